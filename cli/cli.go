// Package cli is the command line of Tenon.
//
// Holds: the commands, their flags, what they print, and the exit codes.
//
// Guarantees: data goes to standard output, everything else to standard error;
// --json prints exactly one document and --jsonl ends with exactly one result,
// also after an error; an error says what happened, where, and what to do next.
//
// Does not: decide anything about runs. That is the library's.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tenonrun/tenon"
	near "github.com/tenonrun/tenon/internal/text"
)

// Version is the version of the program; releases set it when they link.
var Version = "0.1.0-dev"

// Stdio is the world of one command.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Terminal bool // Err is a terminal
}

// Standard returns the process's own streams.
func Standard() Stdio {
	return Stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
}

// Main runs one command and returns its exit code. Interrupt and terminate stop
// it in order: what is recorded stays, and the run can be resumed.
func Main(args []string, io Stdio) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, args, io)
}

// Run is Main under a context of the caller's.
func Run(ctx context.Context, args []string, std Stdio) int {
	a := &app{std: std}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	ran, err := root.ExecuteContextC(ctx)
	a.asked(args)
	return a.finish(ctx, ran.CommandPath(), misuse(err))
}

// asked notes the wish for JSON also where a wrong flag ended the reading of
// flags before it.
func (a *app) asked(args []string) {
	for _, arg := range args {
		switch arg {
		case "--":
			return
		case "--json":
			a.json = !a.jsonl
		case "--jsonl":
			a.jsonl = !a.json
		}
	}
}

// app is one command on its way.
type app struct {
	std Stdio

	dir, state   string
	json, jsonl  bool
	quiet        bool
	trustProject bool
	settings     []string

	begun   bool // the first line of --jsonl is out
	printed bool // a --json document or --jsonl result is out
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tenon",
		Short: "Run agent work durably: nothing lost, nothing paid twice, nothing faked",
		Long: `Tenon runs workflows of agents, models and commands on your repository.
Kill it at any point and resume: no settled model call, command or answer is
repeated.

Exit codes: 0 succeeded, 1 failed, 2 invalid, 3 waiting for a person, 4 limit
exhausted, 5 provider unavailable, 6 denied, 7 unproven, 8 cancelled,
130 interrupted.`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	f := root.PersistentFlags()
	f.StringVarP(&a.dir, "dir", "C", "", "work in the project around this directory")
	f.StringVar(&a.state, "state", "", "base directory of the state (default $TENON_STATE, else $XDG_STATE_HOME/tenon)")
	f.BoolVar(&a.json, "json", false, "print one JSON document")
	f.BoolVar(&a.jsonl, "jsonl", false, "print events as JSON lines, the result last")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress")
	f.BoolVar(&a.trustProject, "trust-project", false, "trust this project's configuration for this command")
	f.StringArrayVar(&a.settings, "set", nil, "override a setting, `KEY=VALUE`, as tenon config lists them")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.json && a.jsonl {
			return usage(errors.New("give --json or --jsonl, not both"))
		}
		return nil
	}
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Runs:"}, &cobra.Group{ID: "say", Title: "A person's word:"},
		&cobra.Group{ID: "see", Title: "Looking:"}, &cobra.Group{ID: "doc", Title: "Workflows:"},
		&cobra.Group{ID: "team", Title: "Agents:"},
		&cobra.Group{ID: "keep", Title: "The project and its state:"},
	)
	for group, cmds := range map[string][]*cobra.Command{
		"run":  {a.runCmd(), a.resumeCmd(), a.forkCmd(), a.demoCmd()},
		"say":  {a.answerCmd(), a.decideCmd("approve"), a.decideCmd("deny"), a.recoverCmd(), a.steerCmd(), a.skipCmd(), a.signalCmd(), a.pauseCmd(), a.cancelCmd()},
		"see":  {a.lsCmd(), a.showCmd(), a.logsCmd(), a.receiptsCmd(), a.verifyCmd(), a.candidateCmd(), a.explainCmd(), a.artifactCmd()},
		"doc":  {a.validateCmd(), a.planCmd(), a.graphCmd(), a.scriptCmd()},
		"team": {a.agentCmd(), a.skillCmd(), a.compositionCmd(), a.contextCmd()},
		"keep": {a.initCmd(), a.configCmd(), a.trustCmd(), a.doctorCmd(), a.gcCmd(), a.versionCmd()},
	} {
		for _, c := range cmds {
			c.GroupID = group
			c.Args = counted(c.Args)
			refuseUnknown(c)
			root.AddCommand(c)
		}
	}
	root.SetHelpCommand(a.helpCmd())
	refuseOtherShells(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{err, c.CommandPath()} })
	return root
}

// counted makes a wrong number of arguments an error that shows how the command
// is used.
func counted(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		if args == nil || args(c, given) == nil {
			return nil
		}
		return usageError{fmt.Errorf("wrong number of arguments (%d): %s", len(given), c.UseLine()), c.CommandPath()}
	}
}

// helpCmd is help that refuses topics there are not.
func (a *app) helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage(fmt.Errorf("there is no help about %q", strings.Join(args, " ")))
			}
			return about.Help()
		},
	}
}

// refuseUnknown makes a command that is not among those of a group an error.
func refuseUnknown(c *cobra.Command) {
	if !c.HasSubCommands() || c.RunE != nil {
		return
	}
	c.Use += " COMMAND"
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		err := fmt.Errorf("there is no command %s %s", c.CommandPath(), args[0])
		if name := near.Nearest(args[0], names); name != "" {
			err = fmt.Errorf("%w; did you mean %q?", err, name)
		}
		return usageError{err, c.CommandPath()}
	}
}

// refuseOtherShells makes completion without a shell, or for one that is not
// known, an error.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, err := root.Find([]string{"completion"})
	if err != nil || c == root {
		return
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return usageError{errors.New("name a shell: bash, zsh, fish or powershell"), c.CommandPath()}
	}
}

// open opens the project for a command that only looks or speaks.
func (a *app) open(ctx context.Context, tune ...func(*tenon.Config)) (*tenon.Tenon, error) {
	cfg := tenon.Config{Dir: a.dir, State: a.state, TrustProject: a.trustProject, Version: Version}
	if len(a.settings) > 0 {
		cfg.Flags = map[string]string{}
		for _, s := range a.settings {
			k, v, ok := strings.Cut(s, "=")
			if !ok {
				return nil, usage(fmt.Errorf("--set %s: it needs the form KEY=VALUE", s))
			}
			cfg.Flags[k] = v
		}
	}
	for _, f := range tune {
		f(&cfg)
	}
	t, err := tenon.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	for _, w := range t.Project.Warnings {
		fmt.Fprintln(a.std.Err, "warning:", w.Error())
	}
	return t, nil
}

// with opens the project, runs do, and closes it.
func (a *app) with(ctx context.Context, do func(*tenon.Tenon) error, tune ...func(*tenon.Config)) error {
	t, err := a.open(ctx, tune...)
	if err != nil {
		return err
	}
	return errors.Join(do(t), t.Close())
}

// inMemory is for commands that need no runs: the state stays as it is.
func inMemory(c *tenon.Config) { c.Memory = true }

// who is the person, in answers and other words.
func (a *app) who() string {
	for _, name := range []string{"TENON_USER", "USER", "LOGNAME"} {
		if v := a.std.Getenv(name); v != "" {
			return v
		}
	}
	return "cli"
}
