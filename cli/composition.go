package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/diff"
	"github.com/tenonrun/tenon/workflow"
)

func (a *app) compositionCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "composition",
		Short: "Check, pin, publish, compare and run trees of agents",
		Long: `A composition is a tree of agents with skills, tools and limits, written in
.tenon/compositions. The lock, .tenon/tenon.lock, says which versions its names
stand for; runs hold themselves to it.`,
	}
	c.AddCommand(a.itemsCmd(composition.KindComposition), a.itemCmd(composition.KindComposition), a.checkCmd(), a.resolveCmd(),
		a.publishCmd(composition.KindComposition), a.archiveCmd(composition.KindComposition), a.diffCmd(), a.compositionRunCmd())
	return c
}

// checked is one thing that was checked.
type checked struct {
	Kind     string    `json:"kind"`
	Name     string    `json:"name"`
	Source   string    `json:"source"`
	Valid    bool      `json:"valid"`
	Problems []finding `json:"problems"`
	Warnings []finding `json:"warnings"`
}

func (a *app) checkCmd() *cobra.Command {
	var draft bool
	c := &cobra.Command{
		Use:   "validate [NAME|FILE...]",
		Short: "Check compositions with all that they refer to; without a name everything of this project",
		Example: `  tenon composition validate
  tenon composition validate close-books
  tenon composition validate ./draft.yaml --draft`,
	}
	c.Flags().BoolVar(&draft, "draft", false, "drafts too")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.named(cmd.Context(), func(t *tenon.Tenon, all *tenon.Agents) error {
			var list []checked
			for _, name := range args {
				r, err := checkNamed(t, all, name, draft)
				if err != nil {
					return err
				}
				list = append(list, r)
			}
			if len(args) == 0 {
				list = checkAll(t, all, draft)
			}
			return a.checks(list)
		})
	}
	return c
}

// checkNamed checks a composition by its name, or a file that may be anywhere.
func checkNamed(t *tenon.Tenon, all *tenon.Agents, name string, draft bool) (checked, error) {
	if ext := filepath.Ext(name); slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
		raw, err := os.ReadFile(name)
		if err != nil {
			return checked{}, usage(fmt.Errorf("reading a composition: %w", err))
		}
		if strings.Contains(string(raw), "WorkspaceManifest") {
			return checkManifest(t, name), nil
		}
		it := composition.ReadComposition(name, strings.TrimSuffix(filepath.Base(name), ext), raw)
		it.Source, it.Tier = name, composition.TierProject
		return checkItem(all, &it, draft), nil
	}
	ref, err := composition.ParseRef(composition.KindComposition, name)
	if err != nil {
		return checked{}, usage(err)
	}
	for _, it := range all.Items(composition.KindComposition) {
		if !it.Stored && it.Name() == ref.Name() && (ref.Version == "" || ref.Version == it.Version) {
			return checkItem(all, it, draft), nil
		}
	}
	it, err := all.Look(tenon.Named{Kind: composition.KindComposition, Name: name}, draft)
	if err != nil {
		return checked{}, err
	}
	return checkItem(all, it, draft), nil
}

// checkManifest checks a workspace manifest, with what it extends.
func checkManifest(t *tenon.Tenon, file string) checked {
	m, err := t.Manifest(file)
	r := checked{Kind: "workspace", Name: filepath.Base(file), Source: file, Valid: err == nil, Problems: findingsOf(err)}
	if err == nil && m.Slug != "" {
		r.Name = m.Slug + "@" + m.Version
	}
	return r
}

// checkItem checks an agent, a skill or a composition with all that it refers to.
func checkItem(all *tenon.Agents, it *composition.Item, draft bool) checked {
	r := checked{Kind: string(it.Kind), Name: cmp.Or(it.Name(), it.Source), Source: it.Source, Problems: findingsOf(it.Err), Warnings: findingsOf(it.Warnings)}
	found, err := all.Check(it, draft)
	if found != nil {
		r.Warnings = findingsOf(found.Warnings)
	}
	r.Problems = append(r.Problems, findingsOf(err)...)
	for i, p := range r.Problems {
		r.Problems[i].File = cmp.Or(p.File, it.Source)
	}
	r.Valid = len(r.Problems) == 0
	return r
}

// checkAll checks every file of the project, and what stands beside agents.
func checkAll(t *tenon.Tenon, all *tenon.Agents, draft bool) []checked {
	var list []checked
	for _, kind := range composition.Kinds() {
		for _, it := range all.Items(kind) {
			if it.Stored || it.Lifecycle == composition.Archived || it.Lifecycle == composition.Draft && !draft {
				continue
			}
			list = append(list, checkItem(all, it, draft))
		}
	}
	for _, e := range all.Catalog.Shadows() {
		list = append(list, checked{Kind: "file", Name: e.File, Source: e.File, Valid: true, Warnings: findingsOf(append(all.Files.Problems[:0:0], e))})
	}
	for _, e := range all.Files.Problems {
		list = append(list, checked{Kind: "file", Name: e.File, Source: e.File, Valid: true, Warnings: findingsOf(append(all.Files.Problems[:0:0], e))})
	}
	specs, err := t.Specs()
	for _, s := range specs {
		list = append(list, checked{Kind: "deliverable", Name: s.Slug, Valid: true})
	}
	if err != nil {
		list = append(list, checked{Kind: "deliverable", Name: ".tenon/specs", Problems: findingsOf(err)})
	}
	manifests, err := t.Manifests()
	for _, file := range manifests {
		list = append(list, checkManifest(t, file))
	}
	if err != nil {
		list = append(list, checked{Kind: "workspace", Name: ".tenon/workspaces", Problems: findingsOf(err)})
	}
	overlays, err := t.Overlays()
	for _, o := range overlays {
		list = append(list, checked{Kind: "overlay", Name: o.ID, Valid: true})
	}
	if err != nil {
		list = append(list, checked{Kind: "overlay", Name: ".tenon/overlays", Problems: findingsOf(err)})
	}
	return list
}

// checks prints what was checked, and is invalid if anything is.
func (a *app) checks(list []checked) error {
	bad := 0
	for i, r := range list {
		list[i].Problems, list[i].Warnings = append([]finding{}, r.Problems...), append([]finding{}, r.Warnings...)
		if !r.Valid {
			bad++
		}
	}
	if a.json || a.jsonl {
		a.document(map[string]any{"valid": bad == 0, "checked": append([]checked{}, list...)})
	}
	told := map[string]bool{}
	for _, r := range list {
		for _, w := range r.Warnings {
			if s := w.String(); !told[s] {
				told[s] = true
				fmt.Fprintln(a.std.Err, "warning:", s)
			}
		}
		if a.json || a.jsonl {
			continue
		}
		switch {
		case !r.Valid:
			fmt.Fprintf(a.std.Out, "invalid  %s %s\n", r.Kind, r.Name)
			for _, p := range r.Problems {
				fmt.Fprintln(a.std.Out, "  "+plain.Indent(p.String()))
			}
		case r.Kind != "file":
			fmt.Fprintf(a.std.Out, "valid    %s %s\n", r.Kind, r.Name)
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(a.std.Err, "there is nothing to check: write agents in .tenon/agents and compositions in .tenon/compositions")
	}
	if bad > 0 {
		return statusError{workflow.StatusInvalid}
	}
	return nil
}

func (a *app) resolveCmd() *cobra.Command {
	var check, dry bool
	c := &cobra.Command{
		Use:   "resolve [NAME|agent:NAME...]",
		Short: "Pin what names stand for now in .tenon/tenon.lock, and show what changes",
		Long: `Without names, all agents and compositions of this repository are pinned anew, and
what nothing names any more goes. With names, the rest of the lock stays.
Drafts are never pinned.`,
		Example: `  tenon composition resolve
  tenon composition resolve close-books agent:auditor
  tenon composition resolve --check`,
	}
	c.Flags().BoolVar(&check, "check", false, "write nothing, and exit with 2 where the lock would change")
	c.Flags().BoolVar(&dry, "dry-run", false, "write nothing")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.named(cmd.Context(), func(t *tenon.Tenon, all *tenon.Agents) error {
			p, err := all.Repin(kinds(args), check || dry)
			if err != nil {
				return err
			}
			changed := p.Changed()
			write := !check && !dry && (len(changed) > 0 || all.Unlocked())
			if write {
				if err := all.WriteLock(p.Is); err != nil {
					return err
				}
			}
			a.pins(t, p, changed, write)
			if check && len(changed) > 0 {
				return statusError{workflow.StatusInvalid}
			}
			return nil
		})
	}
	return c
}

// kinds reads names of compositions, and of agents after "agent:".
func kinds(args []string) []tenon.Named {
	var out []tenon.Named
	for _, s := range args {
		kind, name := composition.KindComposition, s
		if rest, ok := strings.CutPrefix(s, "agent:"); ok {
			kind, name = composition.KindAgent, rest
		}
		out = append(out, tenon.Named{Kind: kind, Name: name})
	}
	return out
}

// pins prints what becomes of the lock.
func (a *app) pins(t *tenon.Tenon, p tenon.Pins, changed []tenon.PinChange, written bool) {
	for _, d := range p.Drafts {
		fmt.Fprintf(a.std.Err, "left out: %s is a draft\n", d)
	}
	for _, o := range p.Own {
		fmt.Fprintf(a.std.Err, "warning: the lock has your own %s: others cannot use the lock without it\n", o)
	}
	if a.json || a.jsonl {
		a.document(map[string]any{"lock": t.LockPath(), "written": written, "pins": append([]composition.Pin{}, p.Is.Pins()...), "changes": changed,
			"drafts": append([]string{}, p.Drafts...), "own": append([]string{}, p.Own...)})
		return
	}
	for _, c := range changed {
		fmt.Fprintln(a.std.Out, c)
	}
	what := "as it was"
	switch {
	case written:
		what = "written"
	case len(changed) > 0:
		what = "not written"
	}
	fmt.Fprintf(a.std.Out, ".tenon/%s: %s, %s changed, %s\n", composition.LockFile, plain.Count(len(p.Is.Pins()), "pin"), fmt.Sprint(len(changed)), what)
}

func (a *app) diffCmd() *cobra.Command {
	var draft bool
	c := &cobra.Command{
		Use:   "diff NAME[@VERSION] [NAME[@VERSION]]",
		Short: "Compare two resolved compositions; with one name, as the lock has it and as it is now",
		Example: `  tenon composition diff close-books
  tenon composition diff close-books@1.0.0 close-books@1.1.0`,
		Args: counted(cobra.RangeArgs(1, 2)),
	}
	c.Flags().BoolVar(&draft, "draft", false, "drafts too")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.named(cmd.Context(), func(_ *tenon.Tenon, all *tenon.Agents) error {
			was, is, err := both(all, args, draft)
			if err != nil {
				return err
			}
			changes := diff.Between(&was.Composition, &is.Composition)
			if a.json || a.jsonl {
				a.document(map[string]any{"was": was.Composition.Version, "is": is.Composition.Version, "changes": append([]diff.Change{}, changes...)})
				return nil
			}
			for _, x := range changes {
				fmt.Fprintln(a.std.Out, x)
			}
			if len(changes) == 0 {
				fmt.Fprintln(a.std.Out, "no difference")
			}
			return nil
		})
	}
	return c
}

// both resolves the two sides of a difference.
func both(all *tenon.Agents, args []string, draft bool) (was, is *composition.Resolution, err error) {
	o := composition.Options{Draft: draft}
	first := kinds(args)[0]
	if len(args) == 2 {
		second := kinds(args)[1]
		if was, err = all.Resolve(first.Kind, first.Name, o); err == nil {
			is, err = all.Resolve(second.Kind, second.Name, o)
		}
		return was, is, err
	}
	if was, err = all.Locked(first); err == nil {
		is, err = all.Resolve(first.Kind, first.Name, o)
	}
	return was, is, err
}
