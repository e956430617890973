package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/export"
	"github.com/tenonrun/tenon/cli/render"
)

func (a *app) artifactShowCmd(w *within) *cobra.Command {
	var raw, open bool
	c := &cobra.Command{
		Use:   "show ARTIFACT",
		Short: "Show a version of an artifact, as far as a terminal can",
		Long: `Text, Markdown and code are shown; what a terminal cannot show is described, and
--open shows it in the browser. --raw writes the content byte for byte, a picture
as its file.`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().BoolVar(&raw, "raw", false, "write the content and nothing else")
	c.Flags().BoolVar(&open, "open", false, "show it in the browser, like tenon artifact open")
	c.MarkFlagsMutuallyExclusive("raw", "open")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onArtifact(cmd.Context(), w, args[0], func(_ *tenon.Tenon, th thing) error {
			if open {
				return a.browse(cmd.Context(), th, a.std.Getenv("BROWSER"))
			}
			return a.showArtifact(cmd.Context(), th, raw)
		})
	}
	return c
}

func (a *app) showArtifact(ctx context.Context, th thing, raw bool) error {
	r, content, err := th.Read(ctx, th.ID, th.Version)
	if err != nil {
		return err
	}
	switch {
	case a.json || a.jsonl:
		a.document(struct {
			Collection string `json:"collection"`
			artifact.Revision
			Kind    artifact.Kind `json:"kind"`
			Content string        `json:"content"`
		}{th.name, r, artifact.KindOf(r.Mime), content})
		return nil
	case raw:
		body, _ := export.Body(r.Mime, content)
		_, err := a.std.Out.Write(body)
		return err
	}
	fmt.Fprintf(a.std.Err, "%s/%s version %d  %s  %s  by %s\n", th.name, r.Artifact, r.Version, printable(r.Mime), printable(r.Title), by(r.Author))
	a.onTerminal(th, &r, content)
	if list, err := th.List(ctx); err == nil {
		for i := range list {
			if list[i].ID == th.ID {
				a.warnStale(&list[i], th.name+"/"+th.ID)
			}
		}
	}
	return nil
}

// onTerminal shows what a terminal can of an artifact. There is an answer for each
// kind.
func (a *app) onTerminal(th thing, r *artifact.Revision, content string) {
	cols, color := a.paper()
	text := render.Tame(content) // what is in it commands no terminal
	switch artifact.KindOf(r.Mime) {
	case artifact.Text:
		a.shown(text)
	case artifact.Markdown:
		a.shown(render.Markdown(text, render.Options{Width: cols, Color: color}))
	case artifact.Code:
		a.shown(render.Code(text, first(r.Language, artifact.LanguageOf(r.Mime)), render.Options{Width: cols, Color: color}))
	case artifact.Image:
		a.cannot(th, r, "a picture")
	case artifact.Vector:
		a.cannot(th, r, "a drawing")
	case artifact.Page:
		if names, err := artifact.Artboards(content); artifact.IsCanvas(r.Mime) && err == nil {
			a.cannot(th, r, fmt.Sprintf("a canvas of %d artboards (%s)", len(names), printable(strings.Join(names, ", "))))
		} else {
			a.cannot(th, r, "a page that a browser runs")
		}
	}
}

// cannot tells what a terminal does not show, and what does.
func (a *app) cannot(th thing, r *artifact.Revision, what string) {
	fmt.Fprintf(a.std.Out, "%s, %d bytes: a terminal cannot show it\n", what, r.Bytes)
	fmt.Fprintln(a.std.Err, a.here(fmt.Sprintf("see it in the browser with: tenon artifact open %[1]s/%[2]s; its bytes with: tenon artifact show %[1]s/%[2]s --raw", th.name, th.ID)))
}

// shown writes a text, with a line end.
func (a *app) shown(text string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, _ = io.WriteString(a.std.Out, text)
}

// paper is the width of standard output, 0 when nobody knows, and whether it shows
// colors.
func (a *app) paper() (cols int, color bool) {
	f, ok := a.std.Out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	cols, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		cols = 0
	}
	kind := a.std.Getenv("TERM")
	return cols, a.std.Getenv("NO_COLOR") == "" && kind != "" && kind != "dumb"
}
