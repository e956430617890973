package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/export"
	"github.com/tenonrun/tenon/workflow"
)

func (a *app) artifactEditCmd(w *within) *cobra.Command {
	var file string
	var base int64
	c := &cobra.Command{
		Use:   "edit ARTIFACT",
		Short: "Give an artifact a new content, as a version by a person",
		Long: `Opens the current version in $VISUAL or $EDITOR, or takes the content of --file. An
agent that writes over it later is told that a person had edited it. When another
version came in meanwhile, nothing is stored, and the text is kept.`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&file, "file", "", "take the content from this file; - is standard input")
	c.Flags().Int64Var(&base, "base", 0, "the version that was edited: any other one that is current refuses it (default with an editor: the one that was opened)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onArtifact(cmd.Context(), w, args[0], func(t *tenon.Tenon, th thing) error {
			if err := th.whole("edit"); err != nil {
				return err
			}
			e := artifact.Edit{Artifact: th.ID, Base: base}
			if file == "" {
				return a.edit(cmd.Context(), th, e)
			}
			raw, _, err := a.slurpTo(file, longest(t))
			if err != nil {
				return err
			}
			now, err := th.Get(cmd.Context(), th.ID)
			if err != nil {
				return err
			}
			e.Content = artifact.FileContent(now.Mime, raw)
			d, err := th.Edit(cmd.Context(), e)
			if err != nil {
				return err
			}
			a.kept(th, &d)
			return nil
		})
	}
	return c
}

// edit opens an artifact in a person's editor.
func (a *app) edit(ctx context.Context, th thing, e artifact.Edit) error {
	ctx = context.WithoutCancel(ctx) // Ctrl-C is for the editor
	editor := strings.TrimSpace(first(a.std.Getenv("VISUAL"), a.std.Getenv("EDITOR")))
	if editor == "" {
		return usage(errors.New("there is no editor: set $VISUAL or $EDITOR, or give the content with --file"))
	}
	r, content, err := th.Read(ctx, th.ID, artifact.Latest)
	if err != nil {
		return err
	}
	if e.Base == 0 {
		e.Base = r.Version
	}
	dir, err := os.MkdirTemp("", "tenon-artifact-")
	if err != nil {
		return fmt.Errorf("editing %s: %w", th.said(), err)
	}
	_, ext := export.Body("text/plain", content)
	if artifact.KindOf(r.Mime) != artifact.Image {
		ext = artifact.Extension(r.Mime)
	}
	name := filepath.Join(dir, th.ID+ext)
	edited, err := a.inEditor(ctx, editor, name, content)
	if err != nil {
		err = fmt.Errorf("editing %s: %w; nothing was stored", th.said(), err)
		if edited != content {
			return fmt.Errorf("%w, your text is in %s", err, name)
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	if edited == content {
		fmt.Fprintln(a.std.Err, "nothing was changed, nothing was stored")
		return os.RemoveAll(dir)
	}
	e.Content = edited
	d, err := th.Edit(ctx, e)
	if err != nil {
		fmt.Fprintln(a.std.Err, "your text is in", name)
		return err
	}
	a.kept(th, &d)
	return os.RemoveAll(dir)
}

// inEditor returns what an editor leaves of a text, also where it fails.
func (a *app) inEditor(ctx context.Context, editor, name, content string) (string, error) {
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		return content, err
	}
	words := strings.Fields(editor)
	if strings.ContainsAny(editor, "\"'\\$`~|&;<>()*?[") && runtime.GOOS != "windows" {
		words = []string{"sh", "-c", editor + ` "$@"`, "sh"} // as git reads it
	}
	run := exec.CommandContext(ctx, words[0], append(words[1:], name)...)
	run.Stdin, run.Stdout, run.Stderr = a.std.In, a.std.Err, a.std.Err
	failed := run.Run()
	raw, err := os.ReadFile(name)
	if failed != nil {
		failed = fmt.Errorf("the editor %s: %w", editor, failed)
		if err != nil {
			return content, failed
		}
		return string(raw), failed
	}
	return string(raw), err
}

// kept tells of a version that was stored.
func (a *app) kept(th thing, d *artifact.Descriptor) {
	if a.json || a.jsonl {
		a.document(artifactRow{th.name, *d, d.Stale()})
		return
	}
	fmt.Fprintf(a.std.Out, "%s/%s version %d\n", th.name, d.ID, d.Version)
	a.warnStale(d, th.name+"/"+d.ID)
}

func (a *app) artifactRestoreCmd(w *within) *cobra.Command {
	return &cobra.Command{
		Use:   "restore ARTIFACT@VERSION",
		Short: "Make an old version current again, as a new version by a person",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onArtifact(cmd.Context(), w, args[0], func(_ *tenon.Tenon, th thing) error {
				if th.Version == artifact.Latest {
					return usage(errors.New("say which version: ARTIFACT@VERSION, as tenon artifact log lists them"))
				}
				d, err := artifact.Revert(cmd.Context(), th, th.ID, th.Version)
				if err != nil {
					return err
				}
				a.kept(th, &d)
				return nil
			})
		},
	}
}

func (a *app) artifactRmCmd(w *within) *cobra.Command {
	return &cobra.Command{
		Use:   "rm ARTIFACT…",
		Short: "Forget artifacts with all their versions, also on other devices at their next sync",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(t *tenon.Tenon) error {
				var all []thing
				for _, arg := range args { // what is not there is told before anything is removed
					th, err := a.artifact(cmd.Context(), t, w, arg)
					if err == nil {
						err = th.whole("rm")
					}
					if err == nil {
						_, err = th.Get(cmd.Context(), th.ID)
						err = a.missing(cmd.Context(), th, err)
					}
					if err != nil {
						return err
					}
					all = append(all, th)
				}
				gone, err := a.removed(cmd.Context(), all)
				if err != nil {
					return err
				}
				if a.json || a.jsonl {
					a.document(map[string]any{"removed": gone})
					return nil
				}
				for _, g := range gone {
					fmt.Fprintln(a.std.Out, "removed", g)
				}
				return nil
			})
		},
	}
}

// removed forgets artifacts, and returns which.
func (a *app) removed(ctx context.Context, all []thing) ([]string, error) {
	gone := []string{}
	for _, th := range all {
		got, err := th.Get(ctx, th.ID)
		if err == nil {
			err = th.Delete(ctx, th.ID)
		}
		if err != nil {
			return gone, fmt.Errorf("after %d were removed: %w", len(gone), err)
		}
		if got.Publication != nil {
			fmt.Fprintln(a.std.Err, "what was published stays where it is:", printable(got.Publication.URL))
		}
		gone = append(gone, th.said())
	}
	return gone, nil
}

func (a *app) artifactUnpublishCmd(w *within) *cobra.Command {
	return &cobra.Command{
		Use:   "unpublish ARTIFACT",
		Short: "Forget that an artifact is published; what was written stays",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onArtifact(cmd.Context(), w, args[0], func(_ *tenon.Tenon, th thing) error {
				if err := th.whole("unpublish"); err != nil {
					return err
				}
				was, err := th.Get(cmd.Context(), th.ID)
				if err != nil {
					return err
				}
				d, err := th.Publish(cmd.Context(), th.ID, nil)
				if err != nil {
					return err
				}
				if a.json || a.jsonl {
					a.document(artifactRow{th.name, d, false})
					return nil
				}
				if was.Publication == nil {
					fmt.Fprintln(a.std.Err, "it was not published")
					return nil
				}
				fmt.Fprintf(a.std.Out, "%s is not published any more\n", th.said())
				fmt.Fprintln(a.std.Err, "remove the files yourself:", printable(was.Publication.URL))
				return nil
			})
		},
	}
}

// visibility reads who may follow a link.
func visibility(s string) (artifact.Visibility, error) {
	switch v := artifact.Visibility(s); v {
	case "", artifact.Unlisted, artifact.Team:
		return v, nil
	}
	return "", workflow.Errorf(workflow.CodeInvalidArguments, "--visibility %s: there are %s and %s", s, artifact.Unlisted, artifact.Team)
}
