package script

import (
	"fmt"

	"github.com/tenonrun/tenon/workflow"
)

// Plan is what a run of an edited script would do first.
type Plan struct {
	Reused []Call // whose results are taken over
	Moved  int    // of them, those whose place in the script is another
	Live   []Call // that then run, as far as it can be told before they have
	Ends   bool   // the script ends with what is taken over
	At     string // where the first of Live stands, for people
	Later  int    // results that may be taken over by calls after Live
}

// Foresee plays the start of a run with all that it takes over and nothing else.
func (f *Factory) Foresee(run workflow.RunID, start workflow.RunStarted, values workflow.Values) (Plan, error) {
	prog, err := f.New(run, start, values)
	if err != nil {
		return Plan{}, err
	}
	defer prog.Close()
	p := prog.(*program) //nolint:forcetypeassert // it was just made
	events := []workflow.Event{{Payload: &start}}
	for seq := int64(1); len(events) > 0; seq++ {
		e := events[0]
		events = events[1:]
		e.Seq = seq
		if err := p.Apply(e); err != nil {
			return Plan{}, err
		}
		wishes, err := p.Decide(nil)
		if err != nil {
			return Plan{}, err
		}
		for _, w := range wishes {
			switch w := w.(type) {
			case workflow.StartVisit:
				if k := p.calls[w.Visit]; k != nil && k.taken != nil {
					events = append(events, workflow.Event{ID: string(w.Visit), Payload: &workflow.Admitted{Kind: w.Kind, Self: true}})
				}
			case workflow.SettleVisit:
				events = append(events, workflow.Event{ID: string(w.Visit), Payload: &w.Result})
			case workflow.Complete, workflow.Log, workflow.StartChild, workflow.CancelVisit, workflow.CancelChild:
			}
		}
	}
	return p.plan(), nil
}

func (p *program) plan() Plan {
	plan := Plan{Ends: p.ended}
	if p.reuse != nil {
		plan.Later = p.reuse.left()
	}
	for _, c := range p.records {
		switch {
		case c.Reused == "":
			if k := p.calls[c.ID]; k != nil && plan.At == "" {
				plan.At = p.where(k)
			}
			plan.Live = append(plan.Live, c)
		default:
			plan.Reused = append(plan.Reused, c)
			if c.Reused == ReusedMoved {
				plan.Moved++
			}
		}
	}
	return plan
}

// Diverges says which call is the first that is not taken over, and why; ""
// without any. old are the calls of the earlier run.
func (p Plan) Diverges(old []Call) string {
	if len(p.Live) == 0 {
		return ""
	}
	c := p.Live[0]
	why := "the earlier run made no such call"
	for _, o := range old {
		if o.ID != c.ID {
			continue
		}
		switch {
		case o.Kind != c.Kind || o.Digest != c.Digest:
			why = "its prompt or its options have changed"
		case !o.Settled:
			why = "it had not ended"
		case o.Failed:
			why = "it failed"
		case c.Kind != kindAgent && c.Kind != kindQuestion:
			why = "it looks at what others do"
		default:
			why = "a call before it failed, or had not ended"
		}
	}
	return fmt.Sprintf("%s: %s", p.At, why)
}

// Again are calls of the earlier run that have written and whose results are not
// taken over: what they did may be done again.
func (p Plan) Again(old []Call) []workflow.VisitID {
	kept := map[string]int{}
	for _, c := range p.Reused {
		kept[string(c.Digest)]++
	}
	var out []workflow.VisitID
	for _, c := range old {
		switch {
		case kept[string(c.Digest)] > 0:
			kept[string(c.Digest)]--
		case c.Writes && c.Settled:
			out = append(out, c.ID)
		}
	}
	return out
}

// Tokens are those that the results were paid with which are taken over, and
// about as many as the rest will take, by what it took before.
func (p Plan) Tokens(old []Call) (saved, ahead int64) {
	var agents, all, missing int64
	for _, c := range p.Reused {
		saved += c.Tokens
	}
	for _, c := range old {
		all += c.Tokens
		switch {
		case c.Kind != kindAgent:
		case c.Settled:
			agents++
		default:
			missing++
		}
	}
	if agents == 0 {
		return saved, 0
	}
	ahead = int64(len(p.Live)) * all / agents
	if p.Later == 0 { // otherwise what is missing shows when those have ended
		ahead = max(ahead, all-saved+missing*all/agents)
	}
	return saved, ahead
}
