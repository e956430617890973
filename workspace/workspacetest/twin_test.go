package workspacetest_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/workspacetest"
)

func TestRunner(t *testing.T) {
	t.Parallel()
	var seen string
	r := &workspacetest.Runner{Answer: func(c workspace.Command) (workspace.Exit, error) {
		return workspace.Exit{Code: 3, Stdout: []byte(c.Line)}, nil
	}}
	exit, err := r.Run(t.Context(), workspace.Command{Line: "x", Dir: "/w", OnOutput: func(_ workspace.Stream, p []byte) { seen += string(p) }})
	if err != nil || exit.Code != 3 || exit.StdoutBytes != 1 || exit.Dir != "/w" || exit.OutputDigest == "" || seen != "x" {
		t.Errorf("exit %+v, %v, seen %q", exit, err, seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ctx, workspace.Command{Line: "y"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if got := r.Commands(); len(got) != 1 || got[0].Line != "x" {
		t.Errorf("commands %+v", got)
	}
}

func TestCandidate(t *testing.T) {
	t.Parallel()
	var c workspacetest.Candidate
	digest := func() string {
		d, err := c.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	empty := digest()
	c.Set("a")
	if digest() == empty {
		t.Error("content does not count")
	}
	c.Fail(os.ErrPermission)
	if _, err := c.Digest(t.Context()); !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v", err)
	}
	if c.Set(""); digest() != empty {
		t.Error("the digest did not come back")
	}
}
