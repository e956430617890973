package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/runcontext"
)

func (a *app) contextCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "context",
		Short: "Show what an agent finds when its turn begins",
	}
	c.AddCommand(a.renderCmd())
	return c
}

func (a *app) renderCmd() *cobra.Command {
	var s alone
	var in inputs
	var out, node string
	var draft bool
	c := &cobra.Command{
		Use:   "render",
		Short: "Render the run context of an agent: instructions, context.json, mounts, tools and both digests",
		Long: `Nothing is started, published or mounted. The same agents, inputs and files give the
same bytes and digests on every machine.`,
		Example: `  tenon context render --agent auditor
  tenon context render --composition close-books --deliverable close-report --out /tmp/context`,
		Args: counted(cobra.NoArgs),
	}
	in.flags(c)
	f := c.Flags()
	f.StringVar(&s.agent, "agent", "", "agent, NAME[@VERSION]")
	f.StringVar(&s.composition, "composition", "", "composition, NAME[@VERSION]; the context is that of its root")
	f.StringVar(&s.deliverable, "deliverable", "", "specification of .tenon/specs that the result has to meet")
	f.StringArrayVar(&s.overlays, "overlay", nil, "overlay of the specification, by id or tag; repeatable")
	f.StringVar(&s.manifest, "manifest", "", "workspace manifest: a file, or the name of one in .tenon/workspaces; it names the agent")
	f.StringVar(&node, "node", "", "node of a workflow that the agent works in (default: as when it runs by itself)")
	f.StringVar(&out, "out", "", "write the files into this directory")
	f.BoolVar(&draft, "draft", false, "drafts too")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.named(cmd.Context(), func(t *tenon.Tenon, all *tenon.Agents) error {
			if err := s.choose(all); err != nil {
				return err
			}
			q := tenon.ContextRequest{Agent: s.agent, Composition: s.composition, Deliverable: s.deliverable, Overlays: s.overlays, Draft: draft, Node: node, Manifest: s.manifest}
			given, err := in.read(a, nil)
			if err == nil && len(given) > 0 {
				q.Inputs, err = json.Marshal(given)
			}
			if err != nil {
				return err
			}
			r, err := t.RenderContext(cmd.Context(), q)
			if err != nil {
				return err
			}
			for _, w := range r.Warnings {
				fmt.Fprintln(a.std.Err, "warning:", w)
			}
			if out != "" {
				if err := writeContext(out, r.Rendered); err != nil {
					return usage(fmt.Errorf("writing the context: %w", err))
				}
			}
			a.context(r.Rendered, out)
			return nil
		})
	}
	return c
}

// choose takes the only composition where nothing is named.
func (s *alone) choose(all *tenon.Agents) error {
	if s.agent != "" && s.composition != "" {
		return usage(errors.New("give --agent or --composition, not both"))
	}
	if s.given() {
		return nil
	}
	var names []string
	for _, it := range all.Items(composition.KindComposition) {
		if !slices.Contains(names, it.Name()) {
			names = append(names, it.Name())
		}
	}
	if len(names) != 1 {
		return usage(errors.New("whose context? name an agent with --agent or a composition with --composition; tenon agent ls and tenon composition ls list them"))
	}
	s.composition = names[0]
	return nil
}

// Names of the files of a rendered context beside those of runcontext.
const (
	planFile   = "mount-plan.json"
	digestFile = "digests.json"
)

// writeContext writes a context into a directory, which holds nothing else.
func writeContext(dir string, r runcontext.Rendered) error {
	plan, err := json.MarshalIndent(r.Plan, "", "  ")
	if err != nil {
		return err
	}
	digests, err := json.MarshalIndent(map[string]any{
		"resolvedAgentSnapshotHash": r.SnapshotHash, "renderedContextHash": r.ContextHash, "toolAllowlist": r.Tools, "appliedOverlays": r.AppliedOverlays,
	}, "", "  ")
	if err != nil {
		return err
	}
	content := map[string][]byte{
		runcontext.AgentsFile: []byte(r.AgentsMD), runcontext.ContextFile: r.ContextFileText(), planFile: append(plan, '\n'), digestFile: append(digests, '\n'),
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ours := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == digestFile })
	for _, e := range entries {
		if content[e.Name()] == nil || !ours {
			return fmt.Errorf("%s holds %s: name a directory that is empty or not there", dir, e.Name())
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// context prints a rendered context.
func (a *app) context(r runcontext.Rendered, dir string) {
	if a.json || a.jsonl {
		a.document(r)
		return
	}
	out := a.std.Out
	if dir == "" {
		fmt.Fprintf(out, "== %s\n%s\n== %s\n%s\n", runcontext.AgentsFile, strings.TrimRight(r.AgentsMD, "\n"), runcontext.ContextFile, r.ContextFileText())
	}
	fmt.Fprintln(out, "== mounts")
	for _, e := range r.Plan.Entries {
		digest := "not pinned"
		if e.SHA256 != "" {
			digest = e.SHA256[:12]
		}
		from := ""
		if e.Source != nil {
			from = strings.TrimSpace(e.Source.Kind + " " + e.Source.Ref)
			if e.Source.Version != "" && !strings.HasSuffix(e.Source.Ref, "@"+e.Source.Version) {
				from += "@" + e.Source.Version
			}
		}
		fmt.Fprintf(out, "%-10s  %s  %s  %s\n", e.Mode, e.Path, digest, from)
	}
	fmt.Fprintf(out, "== tools\n%s\n", strings.Join(r.Tools, " "))
	if len(r.AppliedOverlays) > 0 {
		fmt.Fprintf(out, "== overlays\n%s\n", strings.Join(r.AppliedOverlays, "\n"))
	}
	fmt.Fprintf(out, "== digests\nagent    %s\ncontext  %s\n", r.SnapshotHash, r.ContextHash)
	if dir != "" {
		fmt.Fprintf(a.std.Err, "written to %s\n", dir)
	}
}
