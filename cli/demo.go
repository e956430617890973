package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/history"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/workflow"
)

// demoFiles are the demo's repository: a small Go module with a failing test, a
// workflow that repairs it, and the script of the model.
//
//go:embed all:demo
var demoFiles embed.FS

func (a *app) demoCmd() *cobra.Command {
	var d drive
	var dir string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Make a small repository with a failing test and let a workflow repair it",
		Long: `The model is a script, so the demo costs nothing and needs no key: only Go and
git. It ends waiting for your approval and says what to type next.`,
		Args: cobra.NoArgs,
	}
	d.flags(c)
	c.Flags().StringVar(&dir, "into", "", "new or empty directory for the repository (default: a temporary one)")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if dir == "" {
			dir = a.dir
		}
		root, err := demoDir(dir)
		if err != nil {
			return err
		}
		if err := a.makeDemo(cmd.Context(), root); err != nil {
			return err
		}
		a.dir = root
		fmt.Fprintf(a.std.Err, "made a repository with a failing test in %s\n", root)
		err = a.driving(cmd.Context(), d, func(t *tenon.Tenon, w *watcher) (history.Result, error) {
			wf, err := t.Load("repair")
			if err != nil {
				return history.Result{}, err
			}
			if err := a.fenced(cmd.Context(), t, wf); err != nil {
				return history.Result{}, err
			}
			w.begin(wf)
			return t.Run(cmd.Context(), tenon.Request{Workflow: wf, By: a.who()})
		})
		var st statusError
		if errors.As(err, &st) && st.status == workflow.StatusWaiting {
			return nil // the demo came to its end: the rest is the reader's
		}
		return err
	}
	return c
}

// demoDir makes the directory, which must hold nothing.
func demoDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "tenon-demo-")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", usage(fmt.Errorf("making the demo: %w", err))
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", usage(fmt.Errorf("directory %s is not empty; name a new one", abs))
	}
	return abs, nil
}

func (a *app) makeDemo(ctx context.Context, root string) error {
	err := fs.WalkDir(demoFiles, "demo", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := demoFiles.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(root, strings.TrimSuffix(strings.TrimPrefix(path, "demo/"), ".txt"))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, raw, 0o644)
	})
	if err != nil {
		return fmt.Errorf("making the demo: %w", err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "a stack with a failing test"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return workflow.Errorf(workflow.CodeInvalidArguments, "making the demo's repository: git %s: %w\n%s", args[0], err, out).
				WithHint("the demo needs git")
		}
	}
	p, err := project.Open(a.place(ctx, root))
	if err != nil {
		return err
	}
	return p.Trust()
}
