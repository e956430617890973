package workflow_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/workflow"
)

// fill gives a payload any content. Lists and maps are nil or have members,
// because nothing and an empty list are written the same.
func fill(t *rapid.T, v reflect.Value, path string) {
	switch v.Interface().(type) {
	case workflow.Value:
		v.Set(reflect.ValueOf(rapid.SampledFrom([]workflow.Value{
			{}, workflow.Inline(json.RawMessage("null")), workflow.Inline(json.RawMessage(`{"a":[1,"x",null]}`)), workflow.Text("é"), {Digest: "d", Size: 5000},
		}).Draw(t, path)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"enum":[1]}`), json.RawMessage(`[]`), json.RawMessage(`"x"`)}).Draw(t, path)))
		return
	case workflow.Time:
		v.SetInt(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(-1<<50, 1<<53)).Draw(t, path))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.String().Draw(t, path))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, path))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(-1<<53, 1<<53).Draw(t, path))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1e12, 1e12).Draw(t, path))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, path+"?") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), path)
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 2).Draw(t, path+" length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i), fmt.Sprintf("%s.%d", path, i))
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(0, 2).Draw(t, path+" length"); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for i := range n {
				key := fmt.Sprintf("k%d", i)
				member := reflect.New(v.Type().Elem()).Elem()
				fill(t, member, path+"."+key)
				v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), member)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("json") != "-" {
				fill(t, v.Field(i), path+"."+f.Name)
			}
		}
	default:
		t.Fatalf("%s is of kind %s, which this test cannot fill", path, v.Kind())
	}
}

// What is written of an event is read as the same.
func TestPayloadsComeBack(t *testing.T) {
	t.Parallel()
	for _, typ := range eventTypes(t) {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				p, err := workflow.DecodePayload(typ, []byte("{}"))
				if err != nil {
					t.Fatal(err)
				}
				fill(t, reflect.ValueOf(p).Elem(), "")
				raw, err := workflow.EncodePayload(p)
				if err != nil {
					t.Fatal(err)
				}
				again, err := workflow.DecodePayload(typ, raw)
				if err != nil {
					t.Fatalf("%s: %v", raw, err)
				}
				if !reflect.DeepEqual(p, again) {
					t.Fatalf("%s is read as\n%+v\nand was\n%+v", raw, again, p)
				}
			})
		})
	}
}

// Snapshots keep wishes for visits: they come back as they were, too.
func TestWishesComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c, again workflow.StartVisit
		fill(t, reflect.ValueOf(&c).Elem(), "")
		if c.Params == nil {
			c.Params = json.RawMessage("{}")
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &again); err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("%s is read as\n%+v\nand was\n%+v (%v)", raw, again, c, err)
		}
	})
}
