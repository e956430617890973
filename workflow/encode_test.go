package workflow_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/workflow"
)

// Whatever a fact holds, it is encoded as encoding/json does it, and behind what
// was there.
func TestPayloadsAreEncodedAsJSON(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.SampledFrom([]string{"", "", "next", "read", "a b", `"`, `\`, "<", ">", "&", "\x00", "\x1f", "\x7f", "é", "\u2028", "\xff"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		for _, p := range []workflow.Payload{&workflow.Admitted{}, &workflow.Settled{}} {
			draw(t, reflect.ValueOf(p).Elem(), word)
			want, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := workflow.AppendPayload([]byte("before"), p)
			if err != nil || string(got) != "before"+string(want) {
				t.Fatalf("%s, %v; want %s", got, err, want)
			}
		}
	})
}

// What was written is read back, and whatever else is read as encoding/json does
// it, however a text was changed.
func TestPayloadsAreDecodedAsJSON(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.SampledFrom([]string{"", "next", "read", "é", "<", `"`}), rapid.StringMatching(`[ -~]{0,9}`))
	change := rapid.SampledFrom([]string{"", "", "", "{", "}", `"`, `\`, ",", ":", "true", "false", "null", " ", "x", `"kind":"a",`, `,"AI":true`, `"other":"b",`, `"self":"true",`, "\x00", "\n"})
	rapid.Check(t, func(t *rapid.T) {
		for _, p := range []workflow.Payload{&workflow.Admitted{}, &workflow.Settled{}} {
			draw(t, reflect.ValueOf(p).Elem(), word)
			raw, err := workflow.EncodePayload(p)
			if err != nil {
				t.Fatal(err)
			}
			at := rapid.IntRange(0, len(raw)).Draw(t, "at")
			cut := rapid.IntRange(at, min(len(raw), at+rapid.IntRange(0, 2).Draw(t, "cut"))).Draw(t, "to")
			text := string(raw[:at]) + change.Draw(t, "change") + string(raw[cut:])
			want := reflect.New(reflect.TypeOf(p).Elem()).Interface()
			wantErr := json.Unmarshal([]byte(text), want)
			got, gotErr := workflow.DecodePayload(p.EventType(), []byte(text))
			if (wantErr == nil) != (gotErr == nil) || gotErr == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%s is read as %+v, %v; want %+v, %v", text, got, gotErr, want, wantErr)
			}
		}
	})
}

// draw sets the texts and flags of a fact, and sometimes one of its other fields.
func draw(t *rapid.T, v reflect.Value, word *rapid.Generator[string]) {
	rare := rapid.IntRange(0, 4*v.NumField()).Draw(t, "rare")
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString(word.Draw(t, "text"))
		case reflect.Bool:
			f.SetBool(rapid.Bool().Draw(t, "flag"))
		default:
			if i == rare {
				f.Set(some(f.Type()))
			}
		}
	}
}

// some returns a value of a type that is not left out.
func some(typ reflect.Type) reflect.Value {
	switch typ.Kind() {
	case reflect.Pointer:
		return reflect.New(typ.Elem())
	case reflect.Slice:
		return reflect.MakeSlice(typ, 1, 1)
	case reflect.Map:
		m := reflect.MakeMap(typ)
		m.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf(workflow.Text("<v>")))
		return m
	}
	return reflect.ValueOf(workflow.Text("v"))
}
