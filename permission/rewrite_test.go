package permission_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/tenonrun/tenon/permission"
)

// reader makes what a tool does with its arguments from the steps of a vector.
func reader(steps any) permission.ArgsReader {
	list, ok := steps.([]any)
	if !ok {
		return nil
	}
	return func(in map[string]any) map[string]any {
		out := map[string]any{}
		for k, v := range in {
			out[k] = v
		}
		for _, s := range list {
			step := s.(map[string]any)
			key, _ := step["key"].(string)
			switch step["op"] {
			case "rename":
				if v, ok := out[step["from"].(string)]; ok {
					delete(out, step["from"].(string))
					out[step["to"].(string)] = v
				}
			case "default":
				if _, ok := out[key]; !ok {
					out[key] = step["value"]
				}
			case "to_string":
				if v, ok := out[key]; ok {
					out[key] = fmt.Sprint(v)
				}
			}
		}
		if reflect.DeepEqual(in, out) {
			return nil
		}
		return out
	}
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func runRewrite(t *testing.T, v *vector) {
	w := prepare(t, v)
	s := v.Scenario
	args := &permission.Args{Values: object(s["args"])}
	switch s["op"] {
	case "argsAsTheToolReads":
		read := permission.AsToolReads(reader(s["reader"]), args)
		if want, ok := v.Expect["result"]; ok {
			equal(t, "result", any(read.Values), want)
		}
		if want, ok := v.Expect["same_object"]; ok {
			equal(t, "same_object", read == args, want)
		}
		if want, ok := v.Expect["read_from"]; ok {
			equal(t, "read_from", any(read.From.Values), want)
		}
	case "judge-after-rewrite":
		now := permission.AsToolReads(reader(s["reader"]), &permission.Args{Values: object(s["new_args"])})
		c := w.call(now.Values)
		w.check(t, w.judge.Rewritten(t.Context(), w.call(args.Values), c), c)
	case "callTargetReadingOf":
		leg := permission.NewLeg(permission.NewJudge(permission.Policy{Rules: always(t, w)}, w.env), w.bases)
		reading := leg.Stamp(t.Context(), &permission.Request{Call: *w.call(nil), Args: args})
		asked := args
		if s["reading_taken_for"] != "same-object" {
			asked = &permission.Args{Values: args.Values}
		}
		equal(t, "describes", reading.Describes(asked), v.Expect["describes"])
	case "stamp":
		w.stamp(t, args)
	default:
		t.Fatalf("nothing runs %v", s["op"])
	}
}

func (w *world) stamp(t *testing.T, args *permission.Args) {
	s := w.v.Scenario
	judging := permission.NewJudge(permission.Policy{Rules: always(t, w)}, w.env)
	judge := judging
	if s["judges_paths"] == false || s["rule_added_mid_leg"] == true {
		judge = permission.NewJudge(permission.Policy{}, w.env)
	}
	leg := permission.NewLeg(judge, w.bases)
	if args.Values == nil {
		args = nil // the arguments are no object
	}
	request := func(id string) *permission.Request {
		return &permission.Request{ID: id, Call: *w.call(nil), Args: args}
	}
	taken := map[*permission.CallReading]bool{}
	take := func(r *permission.Request) {
		if got := leg.Stamp(t.Context(), r); got != nil {
			taken[got] = true
		}
	}
	switch {
	case s["already_read"] == true:
		r := request("c")
		r.Reading = permission.NewLeg(judging, w.bases).Stamp(t.Context(), r)
		take(r)
	case s["rule_added_mid_leg"] == true:
		take(request("c"))
		equal(t, "stamped before the rule", len(taken), 0)
		leg.Use(judging)
		take(request("c"))
	case s["sequence"] != nil:
		for _, id := range s["sequence"].([]any) {
			take(request(id.(string)))
		}
	default:
		id, _ := s["tool_call_id"].(string)
		lanes, ok := s["lanes"].(float64)
		if !ok {
			lanes = 1
		}
		for range int(lanes) {
			take(request(id))
		}
	}
	for key, want := range w.v.Expect {
		switch key {
		case "stamped":
			equal(t, key, len(taken) > 0, want)
		case "readings_taken":
			equal(t, key, float64(len(taken)), want)
		case "canonicalizations":
			equal(t, key, float64(w.resolve), want)
		default:
			t.Errorf("nothing checks %q", key)
		}
	}
}
