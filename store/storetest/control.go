package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func inbox(t *testing.T, s store.Store) {
	begin(t, s, "r", "one")
	begin(t, s, "q", "one")
	post := func(run workflow.RunID, id, kind, data string) error {
		return s.Post(t.Context(), store.Control{ID: id, Run: run, Kind: kind, Data: json.RawMessage(data), By: "ann", At: 5})
	}
	waiting := func(ids ...string) []store.Control {
		t.Helper()
		got, err := s.Inbox(t.Context(), "r")
		must(t, err)
		var have []string
		for _, c := range got {
			have = append(have, c.ID)
		}
		if fmt.Sprint(have) != fmt.Sprint(ids) {
			t.Errorf("waiting is %v, want %v", have, ids)
		}
		return got
	}
	must(t, post("r", "z", store.ControlAnswer, `{"yes": true}`))
	must(t, post("r", "b", store.ControlSteer, ``))
	must(t, post("q", "z", store.ControlAnswer, `"another run"`))
	must(t, post("r", "z", store.ControlAnswer, `{"yes":true}`)) // the same
	fails(t, post("r", "z", store.ControlAnswer, `{"yes":false}`), workflow.CodeControlConflict)
	fails(t, post("r", "z", store.ControlCancel, `{"yes":true}`), workflow.CodeControlConflict)
	if got := waiting("z", "b"); got[0].Run != "r" || got[0].Kind != store.ControlAnswer || string(got[0].Data) != `{"yes": true}` || got[0].By != "ann" || got[0].At != 5 || got[1].Data != nil {
		t.Errorf("controls came back as %+v", got)
	}
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, After: 1, Events: note(1, 1, "answered"), Taken: []string{"z"}}))
	waiting("b")
	must(t, post("r", "z", store.ControlAnswer, `{"yes":true}`)) // still the same, still taken
	waiting("b")
	fails(t, post("r", "z", store.ControlAnswer, `{"yes":false}`), workflow.CodeControlConflict)
	for name, c := range map[string]store.Control{
		"no id": {Run: "r", Kind: "steer"}, "no kind": {Run: "r", ID: "x"}, "no run": {ID: "x", Kind: "steer"},
		"no JSON": {Run: "r", ID: "x", Kind: "steer", Data: json.RawMessage("{")},
	} {
		if err := s.Post(t.Context(), c); workflow.CodeOf(err) != workflow.CodeInvalidArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func inboxBound(t *testing.T, s store.Store) {
	begin(t, s, "r", "one")
	var wg sync.WaitGroup
	for i := range store.MaxInbox {
		wg.Go(func() {
			if err := s.Post(t.Context(), store.Control{ID: fmt.Sprint(i), Run: "r", Kind: store.ControlSteer}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	fails(t, s.Post(t.Context(), store.Control{ID: "more", Run: "r", Kind: store.ControlSteer}), workflow.CodeInboxFull)
	must(t, s.Post(t.Context(), store.Control{ID: "7", Run: "r", Kind: store.ControlSteer})) // the same again
	must(t, s.Append(t.Context(), store.Append{Run: "r", Epoch: 1, After: 1, Events: note(1, 1, "x"), Taken: []string{"7"}}))
	must(t, s.Post(t.Context(), store.Control{ID: "more", Run: "r", Kind: store.ControlSteer}))
}
