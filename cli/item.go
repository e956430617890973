package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/composition"
	"github.com/tenonrun/tenon/composition/bounds"
)

// itemView is what show knows about an agent, a skill or a composition.
type itemView struct {
	*composition.Item
	Ref      string                `json:"ref"`
	Resolved *composition.Resolved `json:"resolved,omitempty"`
	Tree     string                `json:"resolvedDigest,omitempty"`
	Denied   []string              `json:"denied,omitempty"`
	Rules    []string              `json:"rules,omitempty"`
	Versions []itemRow             `json:"versions"`
	Hides    []string              `json:"hides,omitempty"`
	Drafts   []string              `json:"drafts,omitempty"`
	Warnings []finding             `json:"warnings,omitempty"`
}

func (a *app) itemCmd(kind composition.Kind) *cobra.Command {
	var draft bool
	c := &cobra.Command{
		Use:   "show NAME[@VERSION]",
		Short: fmt.Sprintf("Show %s: what it stands for, with everything that it brings", article(kind)),
		Args:  counted(cobra.ExactArgs(1)),
	}
	c.Flags().BoolVar(&draft, "draft", false, "drafts too")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.named(cmd.Context(), func(_ *tenon.Tenon, all *tenon.Agents) error {
			v, err := lookUp(all, tenon.Named{Kind: kind, Name: args[0]}, draft)
			if err != nil {
				return err
			}
			if a.json || a.jsonl {
				a.document(v)
			} else {
				a.itemText(v)
			}
			for _, w := range v.Warnings {
				fmt.Fprintln(a.std.Err, "warning:", w)
			}
			return nil
		})
	}
	return c
}

// lookUp resolves a name and gathers what belongs to it.
func lookUp(all *tenon.Agents, n tenon.Named, draft bool) (itemView, error) {
	o := composition.Options{Draft: draft}
	it, err := all.Look(n, draft)
	if err != nil {
		return itemView{}, err
	}
	v := itemView{Item: it, Ref: it.Ref().String(), Warnings: findingsOf(it.Warnings), Versions: []itemRow{}}
	for _, r := range rows(all, n.Kind) {
		switch {
		case r.Name != it.Name():
		case r.Kept:
			v.Versions = append(v.Versions, r)
		case r.HiddenBy == it.Source && !it.Stored:
			v.Hides = append(v.Hides, r.Source)
		}
	}
	if n.Kind == composition.KindSkill {
		return v, nil
	}
	r, err := all.Resolve(n.Kind, n.Name, o)
	if err != nil {
		return v, err
	}
	planes, err := r.Composition.Planes()
	if err != nil {
		return v, err
	}
	said := bounds.Compose(planes...)
	for i := range said.Rules {
		v.Rules = append(v.Rules, said.Rules[i].String())
	}
	v.Resolved, v.Denied, v.Drafts, v.Warnings = &r.Composition, said.Denied, r.Drafts, findingsOf(append(r.Warnings, all.Modelless(r)...))
	v.Tree, err = r.Composition.Digest()
	return v, err
}

func (a *app) itemText(v itemView) {
	out := a.std.Out
	fmt.Fprintf(out, "%s %s\n", v.Kind, v.Ref)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(out, "  %-12s %s\n", name, text)
		}
	}
	line("description", v.Description())
	line("tier", string(v.Tier)+", "+string(v.Lifecycle))
	line("source", v.Source)
	line("digest", v.Digest)
	line("hides", strings.Join(v.Hides, ", "))
	line("drafts", strings.Join(v.Drafts, ", "))
	if v.Skill != nil {
		for _, f := range v.Skill.Files {
			line("file", fmt.Sprintf("%s  %d bytes  %s", f.Path, f.Size, f.SHA256[:12]))
		}
	}
	line("denied tools", strings.Join(v.Denied, ", "))
	for _, r := range v.Rules {
		line("rule", r)
	}
	if v.Resolved != nil {
		line("resolved", v.Tree)
		a.tree(v.Resolved.Root, 2)
	}
	if v.Agent != nil && v.Resolved != nil {
		line("prompt", plain.Indent(v.Resolved.Root.Prompt())) // with what it extends
	}
	for _, r := range v.Versions {
		line("version", fmt.Sprintf("%s  revision %d, %s, %s", r.Version, r.Revision, r.Tier, r.state()))
	}
}

// tree prints the agents of a resolved tree, one a line.
func (a *app) tree(n *composition.ResolvedNode, indent int) {
	text := n.Agent.Ref().String()
	if n.Alias != "" {
		text = n.Alias + ": " + text
	}
	text += " (" + string(n.Agent.Tier) + ")"
	for _, b := range n.Extends {
		text += ", extends " + b.Ref().String()
	}
	if model, override := n.Model(); model != "" {
		text += ", model " + model
		if override {
			text += " by the composition"
		}
	}
	for i, s := range n.Skills {
		text += map[bool]string{true: ", skills ", false: " "}[i == 0] + s.Ref().String()
	}
	for _, s := range n.Selected() {
		text += ", tool " + s.String()
	}
	if n.Declared {
		text += ", limits " + boundsText(n.Limits.Agent())
	}
	fmt.Fprintf(a.std.Out, "%*s%s\n", indent, "", text)
	for _, c := range n.Children {
		a.tree(c, indent+2)
	}
}
