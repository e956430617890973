package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/shelf"
	"github.com/tenonrun/tenon/internal/source"
)

func (a *app) agentCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "agent",
		Short: "List, show, publish and archive agents",
		Long: `Agents are Markdown files with front matter in .tenon/agents and .claude/agents,
and in your own, your organisation's and biomes' directories.`,
	}
	c.AddCommand(a.itemsCmd(composition.KindAgent), a.itemCmd(composition.KindAgent), a.publishCmd(composition.KindAgent), a.archiveCmd(composition.KindAgent))
	return c
}

func (a *app) skillCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "skill",
		Short: "List, show, publish and archive skills",
		Long:  `Skills are folders with a SKILL.md in .tenon/skills and .claude/skills, and in your own, your organisation's and biomes' directories.`,
	}
	c.AddCommand(a.itemsCmd(composition.KindSkill), a.itemCmd(composition.KindSkill), a.publishCmd(composition.KindSkill), a.archiveCmd(composition.KindSkill))
	return c
}

// named opens the project's agents, skills and compositions.
func (a *app) named(ctx context.Context, do func(*tenon.Tenon, *tenon.Agents) error) error {
	return a.with(ctx, func(t *tenon.Tenon) error {
		all, err := t.Agents(ctx)
		if err != nil {
			return err
		}
		return do(t, all)
	}, inMemory)
}

// finding is something wrong in a file, as --json shows it.
type finding struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func findingsOf(err error) []finding {
	out := []finding{}
	var all source.Errors
	switch {
	case err == nil:
	case errors.As(err, &all):
		for _, e := range all {
			out = append(out, finding{e.File, e.Line, e.Column, e.Pointer, e.Code, e.Message, e.Hint})
		}
	default:
		out = append(out, finding{Message: err.Error()})
	}
	return out
}

// itemRow is something that can be named, as ls shows it.
type itemRow struct {
	Name        string                `json:"name"`
	Version     string                `json:"version"`
	Revision    int                   `json:"revision,omitempty"`
	Tier        composition.Tier      `json:"tier"`
	Lifecycle   composition.Lifecycle `json:"lifecycle"`
	Kept        bool                  `json:"kept,omitempty"`     // a version that was published, not a file
	Implicit    bool                  `json:"implicit,omitempty"` // a run published it
	HiddenBy    string                `json:"hiddenBy,omitempty"`
	Changed     bool                  `json:"changed,omitempty"` // since this version was published
	Digest      string                `json:"digest"`
	Source      string                `json:"source"`
	Description string                `json:"description,omitempty"`
	Problems    []finding             `json:"problems,omitempty"`
}

// rows lists the items of a kind; hidden files tell by which they are hidden.
func rows(all *tenon.Agents, kind composition.Kind) []itemRow {
	out := []itemRow{}
	first, kept := map[string]*composition.Item{}, map[string]string{}
	for _, it := range all.Items(kind) {
		if it.Stored {
			kept[string(it.Tier)+" "+it.Ref().String()] = it.Digest
		}
	}
	for _, it := range all.Items(kind) {
		r := itemRow{
			Name: it.Name(), Version: it.Version, Revision: it.Revision, Tier: it.Tier, Lifecycle: it.Lifecycle, Kept: it.Stored, Implicit: it.Implicit,
			Digest: it.Digest, Changed: differs(it, kept[string(it.Tier)+" "+it.Ref().String()]), Source: it.Source, Description: it.Description(), Problems: findingsOf(it.Err),
		}
		switch f := first[it.Name()]; {
		case it.Stored:
		case f == nil:
			first[it.Name()] = it
		default:
			r.HiddenBy = f.Source
		}
		out = append(out, r)
	}
	return out
}

// differs reports whether a file differs from what was published as its version.
func differs(it *composition.Item, kept string) bool {
	return !it.Stored && it.Lifecycle == composition.Published && kept != "" && kept != it.Digest
}

// state is the lifecycle of a row, or what is more important.
func (r itemRow) state() string {
	switch {
	case len(r.Problems) > 0:
		return "broken"
	case r.HiddenBy != "":
		return "hidden"
	case r.Changed:
		return "changed"
	case r.Kept && r.Implicit:
		return "used"
	case r.Kept && r.Lifecycle == composition.Published:
		return "kept"
	}
	return string(r.Lifecycle)
}

func (a *app) itemsCmd(kind composition.Kind) *cobra.Command {
	var whole bool
	c := &cobra.Command{
		Use:   "ls",
		Short: fmt.Sprintf("List the %ss that can be named here, the most specific first", kind),
		Args:  counted(cobra.NoArgs),
	}
	c.Flags().BoolVar(&whole, "all", false, "the versions that were published or used, too")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.named(cmd.Context(), func(_ *tenon.Tenon, all *tenon.Agents) error {
			list := slices.DeleteFunc(rows(all, kind), func(r itemRow) bool { return r.Kept && !whole })
			if a.json || a.jsonl {
				a.document(list)
			} else {
				a.itemTable(kind, list)
			}
			for _, r := range list {
				for _, p := range r.Problems {
					fmt.Fprintln(a.std.Err, "broken:", p)
				}
				if r.Changed {
					fmt.Fprintf(a.std.Err, "warning: %s differs from the %s %s@%s that was published: give it a new version\n", r.Source, kind, r.Name, r.Version)
				}
				if r.HiddenBy != "" {
					fmt.Fprintf(a.std.Err, "warning: the %s %s in %s is hidden by %s\n", kind, r.Name, r.Source, r.HiddenBy)
				}
			}
			a.fileTrouble(all.Files.Problems)
			return nil
		})
	}
	return c
}

// String gives a finding in one line.
func (f finding) String() string {
	e := source.Error{File: f.File, Line: f.Line, Column: f.Column, Message: f.Message, Hint: f.Hint}
	if f.File == "" {
		return strings.TrimPrefix(e.Error(), source.Position{}.String()+": ")
	}
	return e.Error()
}

func (a *app) fileTrouble(problems source.Errors) {
	for _, p := range problems {
		fmt.Fprintln(a.std.Err, "warning:", p.Error())
	}
}

func (a *app) itemTable(kind composition.Kind, list []itemRow) {
	if len(list) == 0 {
		fmt.Fprintf(a.std.Out, "there are no %ss: write one in .tenon/%ss\n", kind, kind)
		return
	}
	w := tabwriter.NewWriter(a.std.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tTIER\tSTATE\tSOURCE\tDESCRIPTION")
	for _, r := range list {
		about, _, _ := strings.Cut(r.Description, "\n")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Version, r.Tier, r.state(), r.Source, about)
	}
	_ = w.Flush()
}

func (a *app) publishCmd(kind composition.Kind) *cobra.Command {
	return &cobra.Command{
		Use:   "publish NAME",
		Short: fmt.Sprintf("Publish the version of %s that a file holds; it never changes again", article(kind)),
		Args:  counted(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.named(cmd.Context(), func(_ *tenon.Tenon, all *tenon.Agents) error {
				r, again, err := all.Publish(tenon.Named{Kind: kind, Name: args[0]})
				if err != nil {
					return err
				}
				a.record(r, map[bool]string{true: "was published before", false: "is published"}[again])
				if strings.HasPrefix(r.Version, "0.0.0+") {
					fmt.Fprintf(a.std.Err, "warning: %s names no version: write one, such as version: 1.0.0, so that people can ask for it\n", r.Source)
				}
				return nil
			})
		},
	}
}

func (a *app) archiveCmd(kind composition.Kind) *cobra.Command {
	var tier string
	c := &cobra.Command{
		Use:   "archive NAME@VERSION",
		Short: fmt.Sprintf("Keep a published version of %s from everyone but those whose lock has it", article(kind)),
		Args:  counted(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&tier, "tier", "", "whose it is: user, project, org, biome or system")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if tier != "" && !slices.Contains(composition.Tiers(), composition.Tier(tier)) {
			return usage(fmt.Errorf("--tier %s: there are %v", tier, composition.Tiers()))
		}
		return a.named(cmd.Context(), func(_ *tenon.Tenon, all *tenon.Agents) error {
			r, err := all.Archive(tenon.Named{Kind: kind, Name: args[0]}, composition.Tier(tier))
			if err == nil {
				a.record(r, "is archived")
			}
			return err
		})
	}
	return c
}

func article(kind composition.Kind) string {
	if kind == composition.KindAgent {
		return "an agent"
	}
	return "a " + string(kind)
}

// record prints what became of a version.
func (a *app) record(r shelf.Record, what string) {
	if a.json || a.jsonl {
		a.document(struct {
			shelf.Record
			Archived bool   `json:"archived"`
			Result   string `json:"result"`
		}{r, r.Archived, what})
		return
	}
	fmt.Fprintf(a.std.Out, "%s %s %s: tier %s, revision %d, digest %s\n", r.Kind, r.Ref(), what, r.Tier, r.Revision, r.Digest[:12])
}
