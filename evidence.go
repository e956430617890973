package tenon

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/tenonrun/tenon/internal/ident"
	"github.com/tenonrun/tenon/verification"
	"github.com/tenonrun/tenon/verification/host"
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
)

// Directories of caches, below the state of the project.
const (
	statCache  = "stats"  // of files, for the candidate
	checkCache = "checks" // results of checks that may be reused
)

// tree returns the content of work trees, with a cache of file stats.
func (t *Tenon) tree(repos []workflow.RepositoryInfo, change string) (*git.Candidate, error) {
	cfg := git.Config{
		State: []string{t.Project.State}, Cache: filepath.Join(t.Project.Home, statCache),
		Change: git.Change{Name: change, Specs: specsOf(repos, change)},
	}
	for _, r := range repos {
		cfg.Repositories = append(cfg.Repositories, workspace.Repository{ID: r.ID, Path: r.Path, Scope: r.Scope})
	}
	return git.New(cfg)
}

// specsOf names the main specs that an OpenSpec change writes when it is archived:
// those that it has deltas for, before or after it was archived.
func specsOf(repos []workflow.RepositoryInfo, change string) []string {
	if change == "" {
		return nil
	}
	var specs []string
	for _, r := range repos {
		changes := filepath.Join(r.Path, "openspec", "changes")
		for _, pattern := range []string{change, filepath.Join("archive", "????-??-??-"+change)} {
			found, err := filepath.Glob(filepath.Join(changes, pattern, "specs", "*"))
			if err != nil {
				continue // names of changes are no patterns
			}
			for _, dir := range found {
				specs = append(specs, filepath.Base(dir))
			}
		}
	}
	slices.Sort(specs)
	return slices.Compact(specs)
}

func (t *Tenon) candidate(ctx context.Context, repos []workflow.RepositoryInfo, change string) (string, error) {
	c, err := t.tree(repos, change)
	if err != nil {
		return "", err
	}
	return c.Digest(ctx)
}

// Candidate returns the content of the project's work trees as they are now. A
// change leaves out the folders of that OpenSpec change, as in a run of it.
func (t *Tenon) Candidate(ctx context.Context, change string) (git.Content, error) {
	c, err := t.tree(t.Project.Repositories(), change)
	if err != nil {
		return git.Content{}, err
	}
	return c.Content(ctx)
}

// Verify runs the configured verification plan, or Config.Checks, outside of any
// run. progress sees the lines of output; nil sees nothing.
func (t *Tenon) Verify(ctx context.Context, progress func(line string)) (verification.Receipt, error) {
	checks, setup, err := t.plannedChecks()
	if err != nil {
		return verification.Receipt{}, err
	}
	if len(checks) == 0 {
		return verification.Receipt{}, noPlan("verifying %s: no verification commands are configured", t.Project.Name)
	}
	repos := t.Project.Repositories()
	r := host.New(host.Config{
		Runner: t.runner, Redactor: t.redact, Cache: filepath.Join(t.Project.Home, checkCache),
		Candidate: func(ctx context.Context) (string, error) { return t.candidate(ctx, repos, "") },
	})
	return r.Run(ctx, host.Request{
		ID: ident.New("rc-"), Repositories: repos, Checks: verification.Commands(checks), Setup: verification.Commands(setup),
		Progress: progress,
	})
}

// Receipts returns the receipts of a run, oldest first, each as it ended: one
// that is pending was cut off with its process.
func (t *Tenon) Receipts(ctx context.Context, run workflow.RunID) ([]verification.Receipt, error) {
	out := []verification.Receipt{}
	err := t.Store.Events(ctx, run, 0, func(e workflow.Event) error {
		kept, ok := e.Payload.(*workflow.EvidenceKept)
		if !ok {
			return nil
		}
		r, err := t.receipt(ctx, kept)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(out, func(x verification.Receipt) bool { return x.ID == r.ID }); i >= 0 {
			if kept.Data.Absent() { // only its state is new
				r, r.State, r.Reason = out[i], kept.State, kept.Reason
			}
			out[i] = r
			return nil
		}
		out = append(out, r)
		return nil
	})
	return out, err
}

func (t *Tenon) receipt(ctx context.Context, kept *workflow.EvidenceKept) (verification.Receipt, error) {
	raw := []byte(kept.Data.JSON)
	if kept.Data.Digest != "" {
		var err error
		if raw, err = t.Store.Blob(ctx, kept.Data.Digest); err != nil {
			return verification.Receipt{}, err
		}
	}
	if len(raw) == 0 {
		return verification.Receipt{ID: kept.Receipt, State: kept.State, Scope: kept.Scope, Candidate: kept.Candidate, Reason: kept.Reason}, nil
	}
	r, err := verification.Parse(raw)
	return r, err
}
