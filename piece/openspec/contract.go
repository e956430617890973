package openspec

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// Reasons why a contract does not hold.
const (
	reasonMissing    = "required_artifacts_missing"
	reasonEmpty      = "empty_artifacts"
	reasonNoTasks    = "tasks_missing"
	reasonIncomplete = "tasks_incomplete"
	reasonChanged    = "artifacts_changed"
	reasonNoContract = "contract_missing"
)

// frozen is what the nodes of a contract share.
type frozen struct {
	Change     string                     `json:"change"`
	Repository string                     `json:"repository"`
	Digest     workflow.Digest            `json:"digest"`
	Files      map[string]workflow.Digest `json:"files"`
}

// difference is a document that is not as it was frozen.
type difference struct {
	Path string `json:"path"`
	How  string `json:"how"` // added | changed | removed
}

// contract freezes the documents of a change, or compares them.
func contract(_ context.Context, v *visit) (workflow.Settled, error) {
	active, err := v.active()
	if err != nil {
		return workflow.Settled{}, err
	}
	var d documents
	if active {
		if d, err = v.collect(); err != nil {
			return workflow.Settled{}, err
		}
	}
	reasons := d.lacks()
	now, err := v.freeze(d)
	if err != nil {
		return workflow.Settled{}, err
	}
	var changes []difference
	if v.p.Action == "check" {
		then, err := v.agreed()
		switch {
		case err != nil:
			return workflow.Settled{}, err
		case then.Change != v.change || then.Repository != v.repo.ID:
			reasons = append(reasons, reasonNoContract)
		default:
			if changes = differences(then.Files, now.Files); len(changes) > 0 {
				reasons = append(reasons, reasonChanged)
			}
		}
	}
	if v.p.RequireCompletedTasks && d.Completed < d.Tasks {
		reasons = append(reasons, reasonIncomplete)
	}
	s := workflow.Settled{Outcome: "pass"}
	switch {
	case len(reasons) > 0:
		s.Outcome = "fail"
	case v.p.Action == "freeze":
		s.Private = result.Value(now)
	}
	v.tell(&s, d, now, reasons, changes)
	return s, nil
}

func (v *visit) freeze(d documents) (frozen, error) {
	f := frozen{Change: v.change, Repository: v.repo.ID, Files: d.Files}
	sum, err := canon.Digest(d.Files)
	if err != nil {
		return f, fmt.Errorf("%s: digesting the documents of change %s: %w", v.f.Node, v.change, err)
	}
	f.Digest = workflow.Digest(sum)
	return f, nil
}

// agreed returns what was frozen; it is empty when nothing was.
func (v *visit) agreed() (f frozen, err error) {
	raw, err := v.c.Load(v.f.Context.Private)
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		return f, fmt.Errorf("%s: reading contract %s: %w", v.f.Node, v.p.ContractID, err)
	}
	return f, nil
}

func differences(then, now map[string]workflow.Digest) (all []difference) {
	names := maps.Clone(then)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch was, is := then[name], now[name]; {
		case was == is:
		case was == "":
			all = append(all, difference{Path: name, How: "added"})
		case is == "":
			all = append(all, difference{Path: name, How: "removed"})
		default:
			all = append(all, difference{Path: name, How: "changed"})
		}
	}
	return all
}

// tell fills in what later nodes and prompts see.
func (v *visit) tell(s *workflow.Settled, d documents, now frozen, reasons []string, changes []difference) {
	if reasons == nil {
		reasons = []string{}
	}
	s.Output = result.Value(map[string]any{
		"change": v.change, "repositoryId": v.repo.ID, "contractId": v.p.ContractID, "action": v.p.Action, "reasons": reasons,
		"digest": now.Digest, "files": len(d.Files), "changed": changes, "empty": d.Empty,
		"tasks": map[string]int{"total": d.Tasks, "completed": d.Completed},
	})
	var b strings.Builder
	fmt.Fprintf(&b, "Contract %s of OpenSpec change %s, %s: %s", v.p.ContractID, v.change, v.p.Action, s.Outcome)
	if len(reasons) > 0 {
		b.WriteString(": " + strings.Join(reasons, ", "))
	}
	for _, c := range changes {
		fmt.Fprintf(&b, "\n%s was %s", c.Path, c.How)
	}
	for _, name := range d.Empty {
		fmt.Fprintf(&b, "\n%s is empty", name)
	}
	if slices.Contains(reasons, reasonIncomplete) {
		for _, t := range d.Open {
			b.WriteString("\nopen: " + v.clean(t))
		}
	}
	s.History = result.Text(b.String())
}
