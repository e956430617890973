package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/workflow"
)

// proveParams are those of the test pieces "prove" and "claim": they keep a
// receipt and call the work verified.
type proveParams struct {
	Keep    *workflow.EvidenceKept `json:"keep"`    // nil keeps none; without a candidate it is about the tree
	Propose string                 `json:"propose"` // receipt that is said to prove the tree
	Edit    string                 `json:"edit"`    // text of the tree when the piece ends
}

func provePiece(w *world, kind string, certifies bool) piece.Piece {
	return piece.Piece{
		Kind: kind, Certifies: certifies,
		Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
		Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
			return piece.Traits{Outcomes: []string{"pass", "fail"}, Effect: workflow.EffectWrite}, nil
		},
		Run: func(ctx context.Context, c piece.Context) (workflow.Settled, error) {
			var p proveParams
			if err := json.Unmarshal(c.Frame().Params, &p); err != nil {
				return workflow.Settled{}, err
			}
			hash, err := c.(piece.Candidater).Candidate(ctx)
			if err != nil {
				return workflow.Settled{}, err
			}
			res := workflow.Settled{Outcome: "pass", Output: workflow.Inline([]byte(`{"valid":true,"verified":"x"}`))}
			if p.Keep != nil {
				kept := *p.Keep
				if kept.Candidate == "" {
					kept.Candidate = hash
				}
				if err := c.(piece.Prover).Keep(ctx, kept); err != nil {
					return res, err
				}
			}
			if p.Propose != "" {
				res.Verified = &workflow.Verified{Receipt: p.Propose, Candidate: hash}
			}
			if p.Edit != "" {
				w.tree.Store(p.Edit)
			}
			return res, nil
		},
	}
}

func prove(name, kind, params, next string) string {
	return `"` + name + `":{"kind":"` + kind + `","params":` + params + `,"ends":{"pass":"` + next + `","fail":"bad"}}`
}

const (
	good  = `"keep":{"receipt":"e1","state":"valid","scope":"full","commands":1}`
	proof = `{` + good + `,"propose":"e1"}`
	must  = `"done":{"kind":"end","params":{"outcome":"success","requiresVerified":true},"ends":{}},"bad":{"kind":"end","params":{"outcome":"failure","reason":"went_bad"},"ends":{}}`
)

// Only a receipt of the visit itself, about the files as they are, certifies;
// whatever writes afterwards takes it back.
func TestVerifiedIsWhatAReceiptProves(t *testing.T) {
	t.Parallel()
	outside := func(w *world) { w.tree.Store("edited from outside") }
	for name, tc := range map[string]struct {
		nodes   string
		between func(*world) // while the run waits for an answer
		want    workflow.Status
		reason  string
	}{
		"proven":           {nodes: prove("try", "prove", proof, "done"), want: workflow.StatusSucceeded},
		"no receipt":       {nodes: prove("try", "prove", `{"propose":"e1"}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"other receipt":    {nodes: prove("try", "prove", `{`+good+`,"propose":"e2"}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"invalid":          {nodes: prove("try", "prove", `{"keep":{"receipt":"e1","state":"invalid","scope":"full","commands":1},"propose":"e1"}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"pending":          {nodes: prove("try", "prove", `{"keep":{"receipt":"e1","state":"pending","scope":"full","commands":1},"propose":"e1"}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"scoped":           {nodes: prove("try", "prove", `{"keep":{"receipt":"e1","state":"valid","scope":"scoped","commands":1},"propose":"e1"}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"no command":       {nodes: prove("try", "prove", `{"keep":{"receipt":"e1","state":"valid","scope":"full"},"propose":"e1"}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"another tree":     {nodes: prove("try", "prove", `{"keep":{"receipt":"e1","state":"valid","scope":"full","commands":1,"candidate":"c1:elsewhere"},"propose":"e1"}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"no right to":      {nodes: prove("try", "claim", proof, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"receipt only":     {nodes: prove("try", "prove", `{`+good+`}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"someone else's":   {nodes: prove("try", "prove", `{`+good+`}`, "lie") + `,` + prove("lie", "prove", `{"propose":"e1"}`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"edited meanwhile": {nodes: prove("try", "prove", `{`+good+`,"propose":"e1","edit":"after the receipt"}`, "done"), want: workflow.StatusFailed, reason: "went_bad"},
		"written later":    {nodes: prove("try", "prove", proof, "more") + `,` + step("more", `,"effect":"write"`, "done"), want: workflow.StatusUnproven, reason: "unverified"},
		"read later":       {nodes: prove("try", "prove", proof, "more") + `,` + step("more", ``, "done"), want: workflow.StatusSucceeded},
		"left alone":       {nodes: prove("try", "prove", proof, "ask"), between: func(*world) {}, want: workflow.StatusSucceeded},
		"edited outside":   {nodes: prove("try", "prove", proof, "ask"), between: outside, want: workflow.StatusUnproven, reason: "unverified"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ask := `,"ask":{"kind":"question","params":{"text":"?"},"ends":{"next":"done"}},`
			res := r.run(def2("try", tc.nodes+ask+must))
			if tc.between != nil {
				wantStatus(t, res, workflow.StatusWaiting)
				tc.between(r.w)
				r.reopen()
				r.answer(res.Questions[0], "go on")
				res = r.drive(res.Run)
			}
			wantStatus(t, res, tc.want)
			if tc.reason != "" && !slices.Contains(res.Reasons, tc.reason) {
				t.Errorf("reasons %q, want %s", res.Reasons, tc.reason)
			}
		})
	}
}

// The result of a proof that no longer holds says so.
func TestContradictedProof(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("try", prove("try", "prove", `{`+good+`,"propose":"e1","edit":"other"}`, "done")+`,`+must))
	const want = `{"reason":"candidate changed before terminal commit","valid":false,"verified":null}`
	if got := string(res.Outputs["try"]); got != want {
		t.Errorf("output %s, want %s", got, want)
	}
	var last *workflow.EvidenceKept
	for _, e := range r.w.events {
		if k, ok := e.Payload.(*workflow.EvidenceKept); ok {
			last = k
		}
	}
	if last == nil || last.State != workflow.ReceiptInvalid || last.Receipt != "e1" {
		t.Errorf("the last receipt is %+v", last)
	}
}

// What stands verified is cleared by a read that finds other files, so that
// conditions do not lie.
func TestReadsNoticeOtherFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.run(def2("try", prove("try", "prove", proof, "ask")+
		`,"ask":{"kind":"question","params":{"text":"?"},"ends":{"next":"look"}},`+step("look", "", "see")+
		`,"see":{"kind":"condition","params":{"expr":"$verified == null"},"ends":{"true":"done","false":"bad"}},`+ends))
	r.w.tree.Store("edited")
	r.answer(res.Questions[0], "go on")
	wantStatus(t, r.drive(res.Run), workflow.StatusSucceeded)
}

// pairPiece is made of two other kinds that share their private state.
var pairPiece = piece.Piece{
	Kind:   "pair",
	Schema: func(int) json.RawMessage { return json.RawMessage(`{"type":"object"}`) },
	Describe: func(json.RawMessage, piece.Env) (piece.Traits, []piece.Problem) {
		return piece.Traits{Outcomes: []string{"next", "failed"}, Effect: workflow.EffectWrite}, nil
	},
	Body: func(json.RawMessage) (workflow.Body, error) {
		var b workflow.Body
		err := json.Unmarshal([]byte(`{"entry":"one","maxTransitions":10,"nodes":{`+
			`"one":{"kind":"step","params":{"name":"one"},"ends":{"next":"two","failed":"out"}},`+
			`"two":{"kind":"condition","params":{"expr":"$vars.wish == \"good\""},"ends":{"true":"fine","false":"out"}},`+
			`"fine":{"kind":"end","params":{"outcome":"success","exit":"next"},"ends":{}},`+
			`"out":{"kind":"end","params":{"outcome":"failure","exit":"failed"},"ends":{}}}}`), &b)
		return b, err
	},
}

func TestKindsThatStandForABody(t *testing.T) {
	t.Parallel()
	pair := func(wish string) string {
		return def2("both", `"both":{"kind":"pair","params":{"wish":"`+wish+`"},"ends":{"next":"done","failed":"bad"}},`+ends)
	}
	r := newRig(t, func(c *engine.Config) { c.Snapshot = 1 })
	wantStatus(t, r.run(pair("good")), workflow.StatusSucceeded)
	if r.w.count("one") != 1 {
		t.Errorf("its step ran %d times", r.w.count("one"))
	}
	wantStatus(t, r.run(pair("bad")), workflow.StatusFailed)
}
