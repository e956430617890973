package openspec

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece/command"
	"github.com/tenonrun/tenon/piece/result"
	"github.com/tenonrun/tenon/workflow"
)

// Bounds of issues in an output: their number, the code points of each, and the
// bytes of all.
const (
	maxIssues  = 100
	maxMessage = 2000
	maxAll     = 128 << 10
)

// validate judges a change as it lies in the repository.
func validate(ctx context.Context, v *visit) (workflow.Settled, error) {
	active, err := v.active()
	if err != nil {
		return workflow.Settled{}, err
	}
	if !active {
		return v.skip("pass")
	}
	args := []string{"validate", v.change, "--type", "change", "--strict", "--json"}
	code, r, err := v.call(ctx, v.root, args...)
	if err != nil {
		return workflow.Settled{}, err
	}
	about, err := v.item(r, args)
	if err != nil {
		return workflow.Settled{}, err
	}
	issues := v.issues(about.Issues)
	s := workflow.Settled{Outcome: "pass", Warnings: v.untested(ctx)}
	if code != 0 || !about.Valid {
		s.Outcome = "fail"
	}
	s.Output = result.Value(map[string]any{
		"change": v.change, "repositoryId": v.repo.ID, "valid": s.Outcome == "pass", "exitCode": code,
		"issues": issues, "issueCount": len(about.Issues),
	})
	s.History = v.verdict(s.Outcome, issues, len(about.Issues))
	return s, nil
}

// skip is the result for a change that is not there any more.
func (v *visit) skip(outcome string) (workflow.Settled, error) {
	name, err := v.archived()
	if err != nil {
		return workflow.Settled{}, err
	}
	if !v.p.AllowArchived || name == "" {
		return workflow.Settled{}, v.missing(name)
	}
	return workflow.Settled{
		Outcome: outcome, History: fmt.Sprintf("OpenSpec change %s is archived already, as %s.", v.change, name),
		Output: result.Value(map[string]any{"change": v.change, "repositoryId": v.repo.ID, "archived": name, "skipped": true}),
	}, nil
}

// item returns what the report says about the change.
func (v *visit) item(r report, args []string) (item, error) {
	if r.Items != nil {
		for _, i := range *r.Items {
			if i.ID == v.change && (i.Type == "change" || i.Type == "") {
				return i, nil
			}
		}
	}
	said := "no status either"
	if len(r.Status) > 0 {
		said = v.told(r.Status)
	}
	return item{}, v.errorf(workflow.CodeOpenSpecOutput, "openspec %s gave no verdict about change %s: %s", args[0], v.change, said).
		WithHint("run `openspec %s` in %s", strings.Join(args, " "), v.root)
}

// told joins the messages of the command line.
func (v *visit) told(all []status) string {
	var lines []string
	for _, s := range all {
		line := s.Message
		if s.Code != "" {
			line = s.Code + ": " + line
		}
		if s.Fix != "" {
			line += " " + s.Fix
		}
		lines = append(lines, line)
	}
	return v.clean(strings.Join(lines, "\n"))
}

func (v *visit) clean(s string) string {
	return text.Head(command.Clean(v.Redactor, []byte(s), 0), maxMessage, result.Cut)
}

func (v *visit) issues(all []issue) []issue {
	kept, size := []issue{}, 0
	for _, i := range all[:min(len(all), maxIssues)] {
		i = issue{Level: v.clean(i.Level), Path: v.clean(i.Path), Line: i.Line, Message: v.clean(i.Message)}
		if size += len(i.Level) + len(i.Path) + len(i.Message); size > maxAll {
			break
		}
		kept = append(kept, i)
	}
	return kept
}

// verdict is what later prompts see.
func (v *visit) verdict(outcome string, issues []issue, total int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "OpenSpec validation of change %s: %s", v.change, outcome)
	for _, i := range issues {
		fmt.Fprintf(&b, "\n%s %s", i.Level, i.Path)
		if i.Line > 0 {
			fmt.Fprintf(&b, ":%d", i.Line)
		}
		b.WriteString(": " + i.Message)
	}
	if more := total - len(issues); more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return result.Text(b.String())
}
