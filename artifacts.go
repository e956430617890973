package tenon

import (
	"context"
	"path/filepath"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/shelf"
	"github.com/tenonrun/tenon/engine"
	"github.com/tenonrun/tenon/piece"
	nodes "github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/tool"
	tools "github.com/tenonrun/tenon/tool/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// artifactsDir is where artifacts are, below the state of the project.
const artifactsDir = "collections"

// Artifacts is the door to what the runs of a project made.
type Artifacts = shelf.Shelf

// Artifacts returns the door to what runs made.
func (t *Tenon) Artifacts() *Artifacts { return t.made }

// openArtifacts opens what runs made; the store is open.
func (t *Tenon) openArtifacts() (*Artifacts, error) {
	cfg := shelf.Config{
		Limits: artifact.Limits{MaxBytes: t.Project.Config.Artifacts.MaxBytes}, Runs: t.Store, Redactor: t.redact, Log: t.cfg.Log,
		Tools: func() (*tool.Set, error) { return t.gear.tools() },
		Retrace: func(ctx context.Context, run workflow.RunID, visits map[workflow.VisitID]bool, see func(nodes.Source) error) error {
			return t.engine.Retrace(ctx, run, visits, func(p engine.Past, _ *workflow.Settled) error { return see(p) })
		},
	}
	if !t.cfg.Memory {
		cfg.Dir = filepath.Join(t.Project.Home, artifactsDir)
	}
	return shelf.New(cfg)
}

// artifactPieces are the kinds of nodes that write artifacts.
func (t *Tenon) artifactPieces() []piece.Piece {
	return nodes.Pieces(nodes.Config{Open: t.made.Open, File: t.artifactFile, Redactor: t.redact})
}

// artifactTools are those with which agents write and read artifacts.
func (t *Tenon) artifactTools() []tool.Tool {
	return tools.Tools(tools.Config{Open: t.made.Open, Redactor: t.redact, Limits: t.made.Limits})
}
