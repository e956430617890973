package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/project"
	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/git"
)

// place says where the project is looked for.
func (a *app) place(ctx context.Context, dir string) project.Options {
	return project.Options{
		Dir: dir, State: a.state, TrustProject: a.trustProject, Getenv: a.std.Getenv,
		CommonDir: func(dir string) (string, error) {
			common, err := git.Common(ctx, dir)
			if errors.Is(err, git.ErrNoRepository) || errors.Is(err, git.ErrNoGit) {
				return "", nil
			}
			return common, err
		},
	}
}

// openProject opens the project without its store.
func (a *app) openProject(ctx context.Context) (*project.Project, error) {
	return project.Open(a.place(ctx, a.dir))
}

func (a *app) initCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a commented configuration and an example workflow",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := a.dir
			if len(args) > 0 {
				dir = args[0]
			}
			p, made, err := project.Init(a.place(cmd.Context(), dir))
			if err != nil {
				return usage(err)
			}
			if a.json {
				a.document(map[string]any{"files": made, "root": p.Root})
				return nil
			}
			for _, f := range made {
				verb := "wrote"
				if f.Kept {
					verb = "kept "
				}
				fmt.Fprintln(a.std.Out, verb, f.Path)
			}
			fmt.Fprintf(a.std.Err, "next: %s run hello\n", a.self())
			return nil
		},
	}
}

func (a *app) configCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show each effective setting and where it came from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(t *tenon.Tenon) error {
				all := t.Project.Settings()
				if a.json {
					a.document(map[string]any{"root": t.Project.Root, "state": t.Project.Home, "settings": all})
					return nil
				}
				fmt.Fprintf(a.std.Out, "project %s\nstate   %s\n", t.Project.Root, t.Project.Home)
				w := tabwriter.NewWriter(a.std.Out, 0, 4, 2, ' ', 0)
				for _, s := range all {
					note := ""
					if s.Withheld {
						note = "  (not trusted: tenon trust)"
					}
					fmt.Fprintf(w, "%s\t%s\t%s%s\n", s.Key, s.Value, s.From, note)
				}
				return w.Flush()
			}, inMemory)
		},
	}
}

func (a *app) trustCmd() *cobra.Command {
	var undo bool
	c := &cobra.Command{
		Use:   "trust",
		Short: "Trust what this project's configuration runs, as it is now",
		Long: `What lies in a repository gains no commands and no rights before it is trusted:
its configuration, the allow rules in .claude/settings.json and
settings.local.json, and scripts of the scripted provider that write files. Deny
rules always count. Trust is kept outside the repository, for the content as it
is: a changed file must be trusted again.`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&undo, "undo", false, "trust it no longer")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := a.openProject(cmd.Context())
		if err != nil {
			return err
		}
		asked := p.Withheld()
		change := p.Trust
		if undo {
			asked, change = nil, p.Distrust
		}
		if err := change(); err != nil {
			return err
		}
		files, err := p.TrustFiles()
		if err != nil {
			return err
		}
		if a.json {
			a.document(map[string]any{
				"root": p.Root, "digest": p.Digest(), "trusted": !undo,
				"files": append([]project.Trusting{}, files...), "settings": append([]project.Setting{}, asked...),
			})
			return nil
		}
		a.trusted(p.Root, files, asked, undo)
		return nil
	}
	return c
}

// trusted says what is trusted now.
func (a *app) trusted(root string, files []project.Trusting, asked []project.Setting, undo bool) {
	for _, s := range asked {
		fmt.Fprintf(a.std.Out, "%s  %s  (%s)\n", s.Key, s.Value, s.From)
	}
	if undo {
		fmt.Fprintf(a.std.Err, "%s is not trusted any more\n", root)
		return
	}
	for _, f := range files {
		fmt.Fprintf(a.std.Err, "trusted %s (%.12s)\n", f.Path, f.Digest)
	}
	if len(files) == 0 {
		fmt.Fprintf(a.std.Err, "nothing in %s needs trust\n", root)
	}
}

func (a *app) doctorCmd() *cobra.Command {
	var salvage string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the state of this project: every history, every blob",
		Args:  cobra.NoArgs,
	}
	c.Flags().StringVar(&salvage, "salvage", "", "copy every sound run of a damaged database, and all that is kept beside it, into a new state directory")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		p, err := a.openProject(ctx)
		if err != nil {
			return err
		}
		if salvage != "" {
			rep, err := sqlite.Salvage(ctx, p.Home, salvage)
			if err != nil {
				return err
			}
			if err := tenon.Salvage(p.Home, salvage); err != nil {
				rep.Problems = append(rep.Problems, store.Problem{What: err.Error(), Next: "copy by hand what you need of it"})
			}
			a.found(rep) // what is lost is told; what is saved is what was asked for
			fmt.Fprintf(a.std.Err, "salvaged into %s; to use it: move %s aside and put %s in its place\n", salvage, p.Home, salvage)
			return nil
		}
		return a.with(ctx, func(t *tenon.Tenon) error {
			k, ok := t.Store.(store.Keeper)
			if !ok {
				return errors.New("this store checks nothing")
			}
			rep, err := k.Check(ctx)
			if err != nil {
				return err
			}
			if err := a.artifactProblems(ctx, t, &rep); err != nil {
				return err
			}
			if v, err := git.Version(ctx); err != nil {
				rep.Problems = append(rep.Problems, store.Problem{What: err.Error(), Next: "candidates of repositories need git"})
			} else if !a.json {
				fmt.Fprintf(a.std.Out, "git %s\n", v)
			}
			return a.report(rep, "everything is sound")
		})
	}
	return c
}

// found prints what a keeper found.
func (a *app) found(rep store.Report) {
	if a.json {
		rep.Problems = append([]store.Problem{}, rep.Problems...)
		a.document(rep)
		return
	}
	fmt.Fprintf(a.std.Out, "%d runs, %d events, %d blobs, %d bytes\n", rep.Runs, rep.Events, rep.Blobs, rep.Bytes)
	for _, p := range rep.Problems {
		fmt.Fprintf(a.std.Out, "problem: %s%s\n  next: %s\n", where(p), p.What, p.Next)
	}
}

// report prints what a keeper found; problems make the command fail.
func (a *app) report(rep store.Report, fine string) error {
	a.found(rep)
	if len(rep.Problems) > 0 {
		return workflow.Errorf(workflow.CodeStoreDamaged, "%d problems in the state of this project", len(rep.Problems)).WithHint("each says what to do")
	}
	fmt.Fprintln(a.std.Err, fine)
	return nil
}

// where names the run and the event of a problem, as far as it is about one.
func where(p store.Problem) string {
	switch {
	case p.Run == "":
		return ""
	case p.Seq == 0:
		return fmt.Sprintf("run %s: ", p.Run)
	}
	return fmt.Sprintf("run %s, event %d: ", p.Run, p.Seq)
}

func (a *app) gcCmd() *cobra.Command {
	var apply bool
	var older time.Duration
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove ended runs that nothing needs; shows them first",
		Long: `Without --apply it only lists. Forks, parents and children keep each other; a
blob goes when no kept run needs it, and the copy of a script with its run.`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&apply, "apply", false, "really remove")
	c.Flags().DurationVar(&older, "older-than", 30*24*time.Hour, "only runs that ended before")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.with(cmd.Context(), func(t *tenon.Tenon) error {
			rep, err := t.Collect(cmd.Context(), time.Now().Add(-older), !apply)
			if err != nil {
				return err
			}
			if a.json {
				rep.Problems = append([]store.Problem{}, rep.Problems...)
				a.document(rep)
				return nil
			}
			for _, r := range rep.Removed {
				fmt.Fprintln(a.std.Out, "remove", r)
			}
			for _, r := range rep.Kept {
				fmt.Fprintln(a.std.Out, "keep  ", r)
			}
			fmt.Fprintf(a.std.Out, "%d runs, %d events, %d blobs, %s, %d bytes\n", len(rep.Removed), rep.Events, rep.Blobs, plain.Count(rep.Scripts, "script"), rep.Bytes)
			if !apply && len(rep.Removed)+rep.Scripts > 0 {
				fmt.Fprintf(a.std.Err, "next: %s%s gc --apply%s\n", a.self(), a.flagsOf(), changed(cmd, "older-than"))
			}
			return nil
		})
	}
	return c
}

// changed repeats a flag for the next command, if it was given.
func changed(c *cobra.Command, name string) string {
	f := c.Flags().Lookup(name)
	if f == nil || !f.Changed {
		return ""
	}
	return " --" + name + " " + f.Value.String()
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rev := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						rev = s.Value
					}
				}
			}
			if a.json {
				a.document(map[string]string{"version": Version, "revision": rev, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
				return nil
			}
			fmt.Fprintf(a.std.Out, "tenon %s %s/%s %s\n", Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return nil
		},
	}
}
