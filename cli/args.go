package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenonrun/tenon"
	"github.com/tenonrun/tenon/cli/plain"
	"github.com/tenonrun/tenon/engine"
)

// scriptArgs are the flags that give a script its args and its bounds.
type scriptArgs struct {
	text, file  string
	maxAgents   int
	concurrency int
	from        string
	change
}

func (s *scriptArgs) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.text, "args", "", "args of a script: JSON, or plain text")
	c.Flags().StringVar(&s.file, "args-file", "", "file with the args of a script as JSON, - for standard input")
	c.Flags().IntVar(&s.maxAgents, "max-agents", 0, "agents that a script may start (default 1000)")
	c.Flags().IntVar(&s.concurrency, "agents", 0, "agents of a script at one time (default up to 16)")
	c.Flags().StringVar(&s.from, "resume-from", "", "take over what this run of the script settled, as far as it holds with the script and the args as they are now")
	s.change.flags(c, "--resume-from")
	c.MarkFlagsMutuallyExclusive("args", "args-file")
}

// positional takes args that stand behind the name of the script.
func (s *scriptArgs) positional(args []string, agent bool) error {
	switch {
	case len(args) == 0:
		return nil
	case agent:
		return usage(errors.New("an agent by itself takes one prompt: put it in quotes"))
	case s.text != "" || s.file != "":
		return usage(errors.New("give the args of a script once: behind its name, with --args, or with --args-file"))
	}
	s.text = args[0]
	return nil
}

// follow has the request take over the results of the run of --resume-from.
func (s *scriptArgs) follow(ctx context.Context, a *app, t *tenon.Tenon, q *tenon.Request) (err error) {
	if s.from == "" {
		if s.Reuse != "" || s.RerunWrites {
			return usage(errors.New("--reuse and --rerun-writes go with --resume-from"))
		}
		return nil
	}
	q.From, err = a.find(ctx, t, argsOf(s.from), false)
	q.Reuse, q.RerunWrites = s.Reuse, s.RerunWrites
	q.Told = func(ed engine.Edit) { fmt.Fprint(a.std.Err, plain.Edit(ed)) }
	return err
}

// read puts the args into a request.
func (s *scriptArgs) read(a *app, wf *tenon.Workflow, q *tenon.Request) error {
	if wf.Script == nil {
		if s.text != "" || s.file != "" {
			return usage(errors.New("args are for scripts: give a definition its inputs with -i NAME=VALUE"))
		}
		return nil
	}
	q.Script.MaxAgents, q.Script.Concurrency = s.maxAgents, s.concurrency
	raw := []byte(s.text)
	if s.file != "" {
		var err error
		if raw, _, err = a.slurp(s.file); err != nil {
			return err
		}
		if !json.Valid(raw) {
			return usage(errors.New("--args-file " + s.file + " holds no JSON"))
		}
	}
	switch {
	case len(raw) == 0:
	case json.Valid(raw):
		q.Args = raw
	default:
		text, err := json.Marshal(string(raw))
		if err != nil {
			return err
		}
		q.Args = text
	}
	return nil
}
