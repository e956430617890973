package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/artifact"
	short "github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/workflow"
)

func (a *app) artifactCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "artifact",
		Short: "See, compare, edit, export, publish and share what runs made",
		Long: `An artifact is a text, page, drawing or picture that has an identity and
versions, and no natural home on disk. Those of a run are in the collection of the
run, which is named by its id; other collections are the project's and outlive
runs. An artifact is named RUN/ID or COLLECTION/ID, one version of it
RUN/ID@VERSION; with --last, or --collection NAME, the ID is enough.`,
	}
	var w within
	f := c.PersistentFlags()
	f.BoolVar(&w.last, "last", false, "in the run of this project that was started last")
	f.StringVar(&w.shared, "collection", "", "in this collection of the project, or of the run with this id")
	for _, sub := range []*cobra.Command{
		a.artifactLsCmd(&w), a.artifactShowCmd(&w), a.artifactLogCmd(&w), a.artifactDiffCmd(&w), a.artifactOpenCmd(&w),
		a.artifactEditCmd(&w), a.artifactRestoreCmd(&w), a.artifactRmCmd(&w),
		a.artifactExportCmd(&w), a.artifactImportCmd(&w), a.artifactPublishCmd(&w), a.artifactUnpublishCmd(&w), a.artifactSyncCmd(&w),
	} {
		sub.Args = counted(sub.Args)
		c.AddCommand(sub)
	}
	return c
}

// within says which collection is meant.
type within struct {
	last   bool
	shared string
}

func (w *within) given() bool { return w.last || w.shared != "" }

// place is a collection that was found.
type place struct {
	name string
	artifact.Collection
}

// thing is an artifact, or one version of it, in a collection.
type thing struct {
	place
	artifact.Address // its Collection is the name of place
}

// said is the address as a person may type it again.
func (t thing) said() string { return t.Address.String() }

// collection finds a collection by its name: one of the project, or a run by its
// id or a unique prefix. "" is what the flags say.
func (a *app) collection(ctx context.Context, t *tenon.Tenon, w *within, name string) (place, error) {
	switch {
	case w.last && w.shared != "", w.given() && name != "":
		return place{}, usage(errors.New("name one collection: with the artifact, with --last, or with --collection"))
	case w.shared != "":
		c, err := t.Artifacts().Shared(ctx, w.shared)
		if workflow.CodeOf(err) == workflow.CodeInvalidArtifactID { // it may be that of a run, whole
			if at, own, none := t.Artifacts().Of(ctx, workflow.RunID(w.shared)); none == nil && at == w.shared {
				a.warnLost(t, at)
				return place{at, own}, nil
			}
		}
		return place{w.shared, c}, err
	case name == "" && !w.last:
		return place{}, usage(errors.New("name a collection: with --collection NAME, as RUN/ID or COLLECTION/ID where an artifact is named, or with --last"))
	}
	if name != "" {
		if c, ok, err := t.Artifacts().Named(ctx, name); ok || err != nil {
			return place{name, c}, err
		}
	}
	run, err := a.find(ctx, t, argsOf(name), w.last)
	if err != nil {
		if workflow.CodeOf(err) == workflow.CodeRunNotFound && name != "" {
			err = workflow.Errorf(workflow.CodeNotFound, "project %s has no collection and no run %q", t.Project.Name, name).
				WithHint("list what there is with: tenon artifact ls")
		}
		return place{}, err
	}
	at, c, err := t.Artifacts().Of(ctx, run)
	a.warnLost(t, at)
	return place{at, c}, err
}

// warnLost tells that the log of a collection was lost, and what of it is.
func (a *app) warnLost(t *tenon.Tenon, collection string) {
	r, ok := t.Artifacts().Rehydrated(collection)
	if !ok {
		return
	}
	fmt.Fprintf(a.std.Err, "warning: the log of the artifacts of run %s was lost; %d versions are written again from its history\n", collection, r.Versions)
	for _, m := range r.Missing {
		fmt.Fprintf(a.std.Err, "  not there: %s\n", printable(m))
	}
	fmt.Fprintln(a.std.Err, "  no history tells what people wrote after the last of these versions, or what was removed or published: an export or another device may (tenon artifact import --log)")
}

// artifact finds what an address names.
func (a *app) artifact(ctx context.Context, t *tenon.Tenon, w *within, address string) (thing, error) {
	addr, err := artifact.ParseAddress(address)
	if err != nil {
		return thing{}, err
	}
	p, err := a.collection(ctx, t, w, addr.Collection)
	if err != nil {
		return thing{}, err
	}
	addr.Collection = p.name
	return thing{p, addr}, nil
}

// onArtifact opens the project and finds what an address names.
func (a *app) onArtifact(ctx context.Context, w *within, address string, do func(*tenon.Tenon, thing) error) error {
	return a.with(ctx, func(t *tenon.Tenon) error {
		th, err := a.artifact(ctx, t, w, address)
		if err != nil {
			return err
		}
		return a.missing(ctx, th, do(t, th))
	})
}

// missing adds to an error about an artifact that is not there which ones are.
func (a *app) missing(ctx context.Context, th thing, err error) error {
	if workflow.CodeOf(err) != workflow.CodeNotFound {
		return err
	}
	list, failed := th.List(ctx)
	if failed != nil {
		return err
	}
	ids := make([]string, 0, len(list))
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	none := workflow.Errorf(workflow.CodeNotFound, "there is no artifact %q in %s", th.ID, th.name)
	near := short.Nearest(th.ID, ids)
	switch {
	case slices.Contains(ids, th.ID): // it is the version that is not there
		return err
	case len(ids) == 0:
		return none.WithHint("there are none yet")
	case near != "":
		return none.WithHint("did you mean %s? all are listed by: %s artifact ls %s", near, a.self()+a.flagsOf(), th.name)
	}
	return none.WithHint("list what there is with: %s artifact ls %s", a.self()+a.flagsOf(), th.name)
}

// whole refuses a version where the artifact as a whole is meant.
func (t thing) whole(command string) error {
	if t.Version == artifact.Latest {
		return nil
	}
	return usage(fmt.Errorf("tenon artifact %s is about an artifact, not about a version: leave out @%d", command, t.Version))
}

// artifactProblems adds what is wrong with the artifacts to what was found.
func (a *app) artifactProblems(ctx context.Context, t *tenon.Tenon, rep *store.Report) error {
	revisions, damage, err := t.Artifacts().Check(ctx)
	if err != nil {
		return err
	}
	for _, d := range damage {
		rep.Problems = append(rep.Problems, store.Problem{
			What: d.Error(), Next: "get it from another device with tenon artifact sync, or from an export with tenon artifact import --log; or remove the artifact",
		})
	}
	if !a.json && revisions > 0 {
		fmt.Fprintf(a.std.Out, "%d revisions of artifacts\n", revisions)
	}
	return nil
}

// printable is a label for people: what a terminal would not show as it is is
// escaped.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return '\ufffd'
		}
		return r
	}, s)
}

// by says who wrote a version.
func by(author artifact.Author) string {
	if author == artifact.Person {
		return "person"
	}
	return "agent"
}

// published says what is out, and whether it is what there is now.
func published(d *artifact.Descriptor) string {
	switch {
	case d.Publication == nil:
		return ""
	case d.Stale():
		return fmt.Sprintf("v%d, stale", d.Publication.Version)
	}
	return fmt.Sprintf("v%d", d.Publication.Version)
}

// warnStale tells that a link shows another text than there is now.
func (a *app) warnStale(d *artifact.Descriptor, address string) {
	if d.Publication != nil && d.Stale() {
		fmt.Fprintf(a.std.Err, "the link shows version %d, you are on version %d: %s artifact publish %s DIR\n", d.Publication.Version, d.Version, a.self()+a.flagsOf(), address)
	}
}
