package shell_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/tool/shell"
	"github.com/tenonrun/tenon/tool/tooltest"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/process"
)

// BenchmarkRun runs "true": what a call costs beside its command.
func BenchmarkRun(b *testing.B) {
	for _, kind := range []string{"confined", "unconfined"} {
		b.Run(kind, func(b *testing.B) {
			f := tooltest.New(b)
			c := shell.Config{Runner: process.New(process.Config{}), Dir: f.Root, Access: workflow.EffectWrite, Roots: []string{f.Root}}
			if kind == "unconfined" {
				c.Available = unconfined
			}
			s, err := shell.New(c)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // nothing depends on it
			set, err := tool.NewSet(s.Tool())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := set.Run(context.Background(), "bash", json.RawMessage(`{"command":"true"}`), tool.Call{Fence: f}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
