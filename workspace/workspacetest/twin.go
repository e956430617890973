// Package workspacetest holds twins of the workspace contract for tests.
//
// Holds: a Runner that answers from a function and a Candidate that is set.
//
// Guarantees: both are safe for concurrent use, keep what they were asked, and
// honour a cancelled context as the real ones do.
//
// Does not: start processes or read disks.
package workspacetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"github.com/tenonrun/tenon/workspace"
)

// Runner is a workspace.Runner without processes. The zero value lets every
// command succeed in silence.
type Runner struct {
	// Answer gives the end of a command; nil means exit code 0 without output.
	Answer func(workspace.Command) (workspace.Exit, error)

	mu       sync.Mutex
	commands []workspace.Command
}

var _ workspace.Runner = (*Runner)(nil)

// Run implements workspace.Runner. It completes sizes and the output digest from
// the answer's Stdout and Stderr, and shows both to OnOutput.
func (r *Runner) Run(ctx context.Context, c workspace.Command) (workspace.Exit, error) {
	if err := ctx.Err(); err != nil {
		return workspace.Exit{}, fmt.Errorf("running a command: %w", err)
	}
	r.mu.Lock()
	r.commands = append(r.commands, c)
	r.mu.Unlock()
	var exit workspace.Exit
	var err error
	if r.Answer != nil {
		exit, err = r.Answer(c)
	}
	if exit.Dir == "" {
		exit.Dir = c.Dir
	}
	exit.StdoutBytes = max(exit.StdoutBytes, int64(len(exit.Stdout)))
	exit.StderrBytes = max(exit.StderrBytes, int64(len(exit.Stderr)))
	if exit.OutputDigest == "" {
		out, errs := sha256.Sum256(exit.Stdout), sha256.Sum256(exit.Stderr)
		sum := sha256.Sum256(append(out[:], errs[:]...))
		exit.OutputDigest = "sha256:" + hex.EncodeToString(sum[:])
	}
	if c.OnOutput != nil && len(exit.Stdout) > 0 {
		c.OnOutput(workspace.Stdout, exit.Stdout)
	}
	if c.OnOutput != nil && len(exit.Stderr) > 0 {
		c.OnOutput(workspace.Stderr, exit.Stderr)
	}
	return exit, err
}

// Commands returns what was run so far, in order.
func (r *Runner) Commands() []workspace.Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.commands)
}

// Candidate is a workspace.Candidate whose content is a string.
type Candidate struct {
	mu      sync.Mutex
	content string
	err     error
}

var _ workspace.Candidate = (*Candidate)(nil)

// Set changes the content; equal contents have equal digests.
func (c *Candidate) Set(content string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.content, c.err = content, nil
}

// Fail lets Digest fail until the next Set.
func (c *Candidate) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// Digest implements workspace.Candidate.
func (c *Candidate) Digest(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("computing the candidate: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", c.err
	}
	sum := sha256.Sum256([]byte(c.content))
	return workspace.CandidateFormat + hex.EncodeToString(sum[:]), nil
}
