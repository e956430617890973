package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/evidence"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	r, err := piece.NewRegistry(evidence.Pieces()...)
	if err != nil {
		t.Fatal(err)
	}
	for level, want := range map[int]string{1: "", 2: "artifact"} {
		if got := strings.Join(r.Kinds(level), " "); got != want {
			t.Errorf("level %d: %q, want %q", level, got, want)
		}
	}
	for _, p := range evidence.Pieces() {
		if p.Run != nil || !strings.HasPrefix(p.Missing, p.Kind+" arrives with ") || strings.Contains(p.Missing, ".") {
			t.Errorf("%s: Run %v, Missing %q", p.Kind, p.Run != nil, p.Missing)
		}
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	r, err := piece.NewRegistry(evidence.Pieces()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ kind, params, traits, problem string }{
		{"artifact", `{"id":"a","title":"t","mime":"text/markdown","content":{"any":1}}`, "next failed; read", ""},
		{"artifact", `{"id":"a","from":"$outputs.write.text"}`, "next failed; read", ""},
		{"artifact", `{"id":"a"}`, "", "alternatives"},
	} {
		p, _ := r.Get(tc.kind)
		s, err := schema.Compile(p.Schema(2))
		if err != nil {
			t.Fatal(err)
		}
		if ps := s.Validate(json.RawMessage(tc.params)); ps != nil {
			if tc.problem == "" || !strings.Contains(ps.Error(), tc.problem) {
				t.Errorf("%s %s: %v, want %q", tc.kind, tc.params, ps, tc.problem)
			}
			continue
		}
		tr, problems := p.Describe(json.RawMessage(tc.params), piece.Env{})
		got := strings.Join(tr.Outcomes, " ") + "; " + string(tr.Effect)
		if tr.Uncertain {
			got += " uncertain"
		}
		if tr.AI {
			got = strings.TrimSpace(got + " ai " + tr.Provider + " " + tr.Model)
		}
		pointer := ""
		if len(problems) > 0 {
			pointer = problems[0].Pointer
		}
		if got != tc.traits || pointer != tc.problem {
			t.Errorf("%s %s: %q, problem %q; want %q, %q", tc.kind, tc.params, got, pointer, tc.traits, tc.problem)
		}
	}
}
