package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece"
	"github.com/tenonrun/tenon/piece/params"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// maxSame is how often the same failures over the same files may come in a row.
const maxSame = 3

func run(ctx context.Context, c piece.Context, cfg Config) (workflow.Settled, error) {
	f := c.Frame()
	p, err := params.Filled[verifyParams](f.Params)
	if err != nil {
		return workflow.Settled{}, err
	}
	todo, err := makePlan(ctx, c, f, p)
	if err != nil {
		return result.Failed("failed", workflow.CodeVerifyFailed, f.Node+": "+err.Error()), nil //nolint:nilerr // the result tells
	}
	hash := candidate(ctx, c)
	r := runner{cfg: cfg, c: c, f: f}
	if prepared, err := r.all(ctx, todo.setup); err != nil {
		return workflow.Settled{}, err
	} else if bad := firstBad(prepared); bad != nil {
		return settleSetup(f, p, prepared, *bad), nil
	}
	verdicts, err := r.all(ctx, todo.items)
	if err != nil {
		return workflow.Settled{}, err
	}
	s, err := settle(c, f, p, todo, hash, verdicts)
	if p.Setup.configured {
		s.Warnings = append(s.Warnings, f.Node+": setup: configured is not run yet; list the commands in the node")
	}
	return s, err
}

// candidate is the digest of the work tree, or "" where it cannot be told.
func candidate(ctx context.Context, c piece.Context) string {
	hasher, ok := c.(piece.Candidater)
	if !ok {
		return ""
	}
	hash, err := hasher.Candidate(ctx)
	if err != nil {
		return ""
	}
	return hash
}

func firstBad(verdicts []verdict) *verdict {
	for i := range verdicts {
		if verdicts[i].state != statePassed {
			return &verdicts[i]
		}
	}
	return nil
}

func settleSetup(f piece.Frame, p verifyParams, verdicts []verdict, bad verdict) workflow.Settled {
	s := result.Failed("failed", workflow.CodeVerifyFailed, fmt.Sprintf("%s: the setup command %q did not work: %s", f.Node, bad.check.name(), bad.reason))
	output := report(verdicts)
	output["valid"], output["verified"], output["reason"] = false, nil, workflow.CodeVerifyUnavailable
	s.History = history(verdicts)
	return blocked(s, f, p, bad, output)
}

// same is what a visit keeps for the next one.
type same struct {
	Fingerprint string `json:"fingerprint"`
	Count       int    `json:"count"`
}

func settle(c piece.Context, f piece.Frame, p verifyParams, todo plan, hash string, verdicts []verdict) (workflow.Settled, error) {
	output := report(verdicts)
	kind := "scoped"
	if todo.full {
		kind = "full"
	}
	bad := firstBad(verdicts)
	output["valid"], output["kind"], output["verified"], output["reason"] = bad == nil, kind, nil, workflow.CodeVerifyUnavailable
	if hash != "" {
		output["candidateHash"] = hash
	}
	s := workflow.Settled{Outcome: "pass", Private: result.Value(same{}), History: history(verdicts)}
	if bad == nil {
		output["noProgressCount"] = 0
		s.Output = result.Value(output)
		return s, nil
	}
	output["failure"] = text.Head(bad.check.name()+": "+bad.reason, 2000, "…")
	now, err := counted(c, f, hash, verdicts)
	if err != nil {
		return s, err
	}
	s.Private, output["noProgressCount"] = result.Value(now), now.Count
	switch {
	case bad.state == stateBroken || bad.state == stateHung && f.Level == 1:
		s.Outcome, s.Status = "failed", workflow.VisitFailed
		s.Error = &workflow.Failure{Code: workflow.CodeVerifyFailed, Message: fmt.Sprintf("%s: the check %q could not be completed: %s", f.Node, bad.check.name(), bad.reason)}
		return blocked(s, f, p, *bad, output), nil
	case now.Count >= maxSame:
		s.Outcome, s.Status = "failed", workflow.VisitFailed
		s.Error = &workflow.Failure{Code: workflow.CodeNoProgress, Message: fmt.Sprintf(
			"%s: the same checks failed %d times while the files did not change; look at the failures before repairing goes on", f.Node, now.Count)}
	default:
		s.Outcome = "fail"
		if bad.absent {
			return blocked(s, f, p, *bad, output), nil
		}
	}
	s.Output = result.Value(output)
	return s, nil
}

// blocked finishes a result. Where the definition asks for host blockers, a
// program that is not there is one.
func blocked(s workflow.Settled, f piece.Frame, p verifyParams, bad verdict, output map[string]any) workflow.Settled {
	if p.HostBlockers && bad.absent {
		s.Outcome, s.Status = "blocked", workflow.VisitBlocked
		s.Error = &workflow.Failure{Code: workflow.CodeVerifyFailed, Message: fmt.Sprintf("%s: the check %q needs something this machine does not have: %s", f.Node, bad.check.name(), bad.reason)}
		output["blocker"] = map[string]any{
			"kind": "toolchain", "reason": text.Head(bad.reason, 2000, "…"), "command": text.Head(bad.check.Command, 512, "…"),
			"args": bound(bad.check.Args), "cwd": bad.check.Cwd, "requiredAction": "install what the command needs, or change the plan",
		}
	}
	s.Output = result.Value(output)
	return s
}

// counted compares the failures with those of the last visit. Where the files
// are not known to be the same, it starts anew.
func counted(c piece.Context, f piece.Frame, hash string, verdicts []verdict) (same, error) {
	type failure struct {
		Name string
		Code int
	}
	var failures []failure
	for _, v := range verdicts {
		if v.state == stateFailed || v.state == stateHung || v.state == stateBroken {
			failures = append(failures, failure{Name: v.check.identity(), Code: v.code})
		}
	}
	mark, err := canon.Digest(map[string]any{"candidate": hash, "failures": failures})
	if err != nil {
		return same{}, fmt.Errorf("%s: digesting the failures: %w", f.Node, err)
	}
	raw, err := c.Load(f.Context.Private)
	if err != nil {
		return same{}, fmt.Errorf("%s: reading what the last visit kept: %w", f.Node, err)
	}
	var last same
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &last); err != nil {
			return same{}, fmt.Errorf("%s: reading what the last visit kept: %w", f.Node, err)
		}
	}
	if hash == "" || last.Fingerprint != mark {
		last.Count = 0
	}
	return same{Fingerprint: mark, Count: last.Count + 1}, nil
}

// identity names a check without its limits.
func (c check) identity() string {
	return strings.Join([]string{c.RepositoryID, c.Cwd, c.name()}, "\x00")
}

// name is a check as people read it.
func (c check) name() string {
	switch {
	case c.File != nil:
		return "file " + c.File.Path
	case c.JSON != nil:
		return "json " + c.JSON.Path
	case c.Clean != nil:
		return "clean work tree"
	case c.CommandLine != "":
		return c.CommandLine
	}
	return strings.Join(append([]string{c.Command}, c.Args...), " ")
}
