package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/export"
	viewer "github.com/tenonrun/tenon/artifact/view"
	"github.com/tenonrun/tenon/cli/render"
)

// artifactRow is an artifact as ls shows it.
type artifactRow struct {
	Collection string `json:"collection"`
	artifact.Descriptor
	Stale bool `json:"stale,omitempty"` // what is published is another text
}

func (a *app) artifactLsCmd(w *within) *cobra.Command {
	c := &cobra.Command{
		Use:   "ls [RUN|COLLECTION]",
		Short: "List artifacts: of all collections, or of one",
		Args:  cobra.MaximumNArgs(1),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			places, err := a.places(cmd.Context(), t, w, args)
			if err != nil {
				return err
			}
			rows := []artifactRow{}
			for _, p := range places {
				list, err := p.List(cmd.Context())
				if err != nil {
					return err
				}
				for _, d := range list {
					rows = append(rows, artifactRow{p.name, d, d.Stale()})
				}
			}
			a.artifactRows(rows)
			return nil
		})
	}
	return c
}

// places are the collections that a listing is about.
func (a *app) places(ctx context.Context, t *tenon.Tenon, w *within, args []string) ([]place, error) {
	if len(args) > 0 || w.given() {
		p, err := a.collection(ctx, t, w, strings.Join(args, ""))
		return []place{p}, err
	}
	names, err := t.Artifacts().Names(ctx)
	if err != nil {
		return nil, err
	}
	var list []place
	for _, name := range names {
		c, err := t.Artifacts().Existing(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, place{name, c})
	}
	return list, nil
}

func (a *app) artifactRows(rows []artifactRow) {
	switch {
	case a.json:
		a.document(rows)
		return
	case a.jsonl:
		for i := range rows {
			a.line(rows[i])
		}
		return
	}
	w := tabwriter.NewWriter(a.std.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ARTIFACT\tVERSION\tKIND\tBYTES\tBY\tPUBLISHED\tTITLE")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(w, "%s/%s\t%d\t%s\t%d\t%s\t%s\t%s\n", r.Collection, r.ID, r.Version, r.Kind, r.Bytes, by(r.Author), published(&r.Descriptor), printable(r.Title))
	}
	_ = w.Flush()
}

func (a *app) artifactLogCmd(w *within) *cobra.Command {
	c := &cobra.Command{
		Use:   "log ARTIFACT",
		Short: "List the versions of an artifact, the newest first",
		Args:  cobra.ExactArgs(1),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onArtifact(cmd.Context(), w, args[0], func(_ *tenon.Tenon, th thing) error {
			if err := th.whole("log"); err != nil {
				return err
			}
			got, err := th.Get(cmd.Context(), th.ID)
			if err != nil {
				return err
			}
			switch {
			case a.json:
				a.document(struct {
					Collection string `json:"collection"`
					artifact.Artifact
					Twins []int64 `json:"twins,omitempty"`
				}{th.name, got, got.Twins()})
				return nil
			case a.jsonl:
				for _, v := range got.Versions {
					a.line(v)
				}
				return nil
			}
			a.versions(&got)
			return nil
		})
	}
	return c
}

func (a *app) versions(got *artifact.Artifact) {
	fmt.Fprintf(a.std.Out, "%s  %s  %s  %s\n", got.ID, printable(got.Mime), got.Kind, printable(got.Title))
	w := tabwriter.NewWriter(a.std.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "VERSION\tBY\tAT\tBYTES\tDEVICE\tSHA256\t")
	for i := len(got.Versions) - 1; i >= 0; i-- {
		v := got.Versions[i]
		note := ""
		if got.Publication != nil && got.Publication.Version == v.Version {
			note = "published: " + printable(got.Publication.URL)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", v.Version, by(v.Author), time.UnixMilli(v.CreatedAt).Local().Format("2006-01-02 15:04:05"), v.Bytes, printable(v.Device), v.Digest[:12], note)
	}
	_ = w.Flush()
	for _, n := range got.Twins() {
		fmt.Fprintf(a.std.Out, "version %d was written on more than one device: the upper one is current\n", n)
	}
}

func (a *app) artifactDiffCmd(w *within) *cobra.Command {
	c := &cobra.Command{
		Use:   "diff ARTIFACT [FROM [TO]]",
		Short: "Compare two versions: by default the current one with the one before it",
		Args:  cobra.RangeArgs(1, 3),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onArtifact(cmd.Context(), w, args[0], func(_ *tenon.Tenon, th thing) error {
			from, to, err := th.pair(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			d, err := export.Diff(cmd.Context(), th, th.ID, from, to)
			if err != nil {
				return err
			}
			if a.json || a.jsonl {
				a.document(d)
				return nil
			}
			switch {
			case d.Same:
				fmt.Fprintf(a.std.Err, "versions %d and %d have the same content\n", d.From.Version, d.To.Version)
			case d.Text == "":
				fmt.Fprintf(a.std.Out, "version %d: %d bytes, sha256 %s\nversion %d: %d bytes, sha256 %s\n", d.From.Version, d.From.Bytes, d.From.Digest, d.To.Version, d.To.Bytes, d.To.Digest)
				fmt.Fprintf(a.std.Err, "they are not compared: %s\n", d.Why)
			default:
				a.shown(render.Tame(d.Text))
			}
			return nil
		})
	}
	return c
}

// pair are the versions to compare.
func (t thing) pair(ctx context.Context, args []string) (from, to int64, err error) {
	if t.Version != artifact.Latest {
		if len(args) > 1 {
			return 0, 0, usage(errors.New("give the versions once: ARTIFACT FROM TO, or ARTIFACT@TO FROM"))
		}
		to = t.Version
	} else {
		to = artifact.Latest
	}
	for i, arg := range args {
		n, err := strconv.ParseInt(strings.TrimPrefix(arg, "@"), 10, 64)
		if err != nil || n < 1 {
			return 0, 0, usage(fmt.Errorf("%q is not the number of a version", arg))
		}
		if i == 0 {
			from = n
		} else {
			to = n
		}
	}
	if from > 0 {
		return from, to, nil
	}
	got, err := t.Get(ctx, t.ID)
	if err != nil {
		return 0, 0, err
	}
	for i, v := range got.Versions {
		if i > 0 && (v.Version == to || to == artifact.Latest && i == len(got.Versions)-1) {
			return got.Versions[i-1].Version, to, nil
		}
	}
	return 0, 0, usage(fmt.Errorf("artifact %s has no version before that one to compare with", t.ID))
}

func (a *app) artifactOpenCmd(w *within) *cobra.Command {
	var browser string
	c := &cobra.Command{
		Use:   "open ARTIFACT",
		Short: "Show an artifact in the browser, and let a person edit it there",
		Long: `Serves one artifact on loopback, prints the address that opens its page, once, and
ends when the page is closed. What the artifact runs, it runs in a sandbox.`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&browser, "browser", "", "program to open the address with (default $BROWSER; without one the address is only printed)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onArtifact(cmd.Context(), w, args[0], func(_ *tenon.Tenon, th thing) error {
			return a.browse(cmd.Context(), th, first(browser, a.std.Getenv("BROWSER")))
		})
	}
	return c
}

// browse serves an artifact until its page is closed.
func (a *app) browse(ctx context.Context, th thing, browser string) error {
	got, err := th.Get(ctx, th.ID)
	if err != nil {
		return err
	}
	v, err := viewer.Open(ctx, viewer.Config{Store: th, ID: th.ID, Version: th.Version, Saved: func(d artifact.Descriptor) {
		fmt.Fprintf(a.std.Err, "saved as version %d\n", d.Version)
	}})
	if err != nil {
		return err
	}
	if got.Kind.NeedsSandbox() {
		fmt.Fprintln(a.std.Err, viewer.Warning)
	}
	if a.json || a.jsonl {
		a.line(map[string]any{"url": v.URL()})
	} else {
		fmt.Fprintln(a.std.Out, v.URL())
	}
	fmt.Fprintln(a.std.Err, "the address works once; close the page to end")
	if browser != "" {
		page := exec.CommandContext(ctx, browser, v.URL())
		page.Stderr = os.Stderr
		if err := page.Start(); err != nil {
			fmt.Fprintf(a.std.Err, "warning: starting the browser: %v; open the address yourself\n", err)
		} else {
			defer func() { _ = page.Wait() }()
		}
	}
	return errors.Join(v.Wait(), v.Close())
}
