package storetest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

// payloads returns one of every type, with every field set.
func payloads() []workflow.Payload {
	all := []workflow.Payload{
		&workflow.RunStarted{}, &workflow.Admitted{}, &workflow.Refused{}, &workflow.InvocationReserved{},
		&workflow.InvocationSettled{}, &workflow.Progress{}, &workflow.Retrying{}, &workflow.Settled{},
		&workflow.Lost{}, &workflow.Recovered{}, &workflow.QuestionOpened{}, &workflow.QuestionAnswered{},
		&workflow.TimerStarted{}, &workflow.TimerFired{}, &workflow.ChildStarted{}, &workflow.ChildEnded{},
		&workflow.Signal{}, &workflow.Steered{}, &workflow.LimitRaised{}, &workflow.Paused{}, &workflow.Resumed{},
		&workflow.CancelRequested{}, &workflow.BreakerOpened{}, &workflow.Forked{}, &workflow.Ended{},
	}
	for _, p := range all {
		fill(reflect.ValueOf(p).Elem(), 0)
	}
	return all
}

// fill sets a value and everything in it to something that is not zero.
func fill(v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case workflow.Value:
		v.Set(reflect.ValueOf(workflow.Inline([]byte(`{"text":"ä \u0000 <&>","n":1e3}`))))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"type":"object"}`)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("Größe\n\x00\t" + v.Type().Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1_700_000_000_000_000 + int64(depth))
	case reflect.Float64:
		v.SetFloat(0.125)
	case reflect.Pointer:
		if depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), depth+1)
		fill(v.Index(1), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		elem := reflect.New(v.Type().Elem()).Elem()
		fill(elem, depth+1)
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), elem)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), depth+1)
			}
		}
	default:
	}
}

func everyPayload(t *testing.T, s store.Store) {
	var want []workflow.Event
	for i, p := range payloads() {
		want = append(want, workflow.Event{
			Seq: int64(i) + 1, At: workflow.Time(1_700_000_000_123_456 + i), Epoch: 7,
			ID: "each#1[17]/dö#" + string(p.EventType()), Node: "each/dö", Visit: i + 1, Attempt: i, Invocation: 2 * i, Payload: p,
		})
	}
	must(t, s.Append(t.Context(), store.Append{Run: "all", Epoch: 7, Create: &store.Create{}, Events: want}))
	got := history(t, s, "all", 0)
	if len(got) != len(want) {
		t.Fatalf("%d events came back of %d", len(got), len(want))
	}
	for i := range want {
		if a, b := encoded(t, want[i]), encoded(t, got[i]); a != b {
			t.Errorf("payload\n%s\ncame back as\n%s", a, b)
		}
		want[i].Payload, got[i].Payload = nil, nil
		if want[i] != got[i] {
			t.Errorf("event %+v came back as %+v", want[i], got[i])
		}
	}
}

func encoded(t *testing.T, e workflow.Event) string {
	t.Helper()
	raw, err := workflow.EncodePayload(e.Payload)
	must(t, err)
	return string(e.Type()) + " " + string(raw)
}
