package cli

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/workflow"
)

// alone are the flags of an agent or a composition that runs by itself.
type alone struct {
	agent, composition string
	manifest           string
	access             string
	deliverable        string
	onViolation        string
	overlays           []string
	limits             []string
}

func (s *alone) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.deliverable, "deliverable", "", "specification of .tenon/specs that the result has to meet")
	f.StringVar(&s.onViolation, "on-violation", "", "when it does not: correct, fail or continue (default: as the specification says)")
	f.StringArrayVar(&s.overlays, "overlay", nil, "overlay of the specification, by id or tag; repeatable")
	f.StringArrayVar(&s.limits, "limits", nil, "limits of the agent with all that it starts: maxDepth, maxFanout, maxSpawns, tokenBudget, maxCostUsd, maxDuration, soft, grace, strict; `KEY=VALUE,...`")
	f.StringVar(&s.access, "access", "", "what the agent may do to the work tree: read or write (default write)")
}

// given reports whether an agent is to run by itself.
func (s *alone) given() bool { return s.agent+s.composition+s.manifest != "" }

// load makes the workflow of one node.
func (s *alone) load(a *app, t *tenon.Tenon, prompt string, l *launch) (tenon.Request, error) {
	q := tenon.Alone{Agent: s.agent, Composition: s.composition, Manifest: s.manifest, Prompt: prompt, Access: workflow.Effect(s.access), Deliverable: s.deliverable,
		OnViolation: s.onViolation, Overlays: s.overlays, Verify: len(l.verify) > 0}
	if s.access != "" && s.access != string(workflow.EffectRead) && s.access != string(workflow.EffectWrite) {
		return tenon.Request{}, usage(fmt.Errorf("--access %s: there are read and write", s.access))
	}
	if !slices.Contains([]string{"", "correct", "fail", "continue"}, s.onViolation) {
		return tenon.Request{}, usage(fmt.Errorf("--on-violation %s: there are correct, fail and continue", s.onViolation))
	}
	var err error
	if q.Limits, err = parseLimits(s.limits); err != nil {
		return tenon.Request{}, err
	}
	given, err := l.in.read(a, nil)
	if err == nil && len(given) > 0 {
		q.Inputs, err = json.Marshal(given)
	}
	if err == nil && prompt == "-" {
		var raw []byte
		raw, _, err = a.slurp("-")
		q.Prompt = string(raw)
	}
	if err != nil {
		return tenon.Request{}, err
	}
	wf, values, err := t.Alone(q)
	return tenon.Request{Workflow: wf, Inputs: values}, err
}

func (a *app) compositionRunCmd() *cobra.Command {
	l := &launch{}
	c := &cobra.Command{
		Use:   "run NAME[@VERSION] PROMPT",
		Short: "Run a composition by itself: the same as tenon run --composition",
		Example: `  tenon composition run close-books "close October" --deliverable close-report
  tenon composition run close-books "close October" --limits maxSpawns=4,tokenBudget=200000`,
		Args: counted(cobra.ExactArgs(2)),
	}
	l.flags(c)
	for _, name := range []string{"change", "tickets", "spec"} {
		c.Flags().Lookup(name).Hidden = true
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		l.composition = args[0]
		return a.launch(cmd, l, args[1])
	}
	return c
}
