package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tenonrun/tenon/permission"
	"github.com/tenonrun/tenon/permission/disk"
	nodes "github.com/tenonrun/tenon/piece/artifact"
	"github.com/tenonrun/tenon/tool"
	tools "github.com/tenonrun/tenon/tool/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// artifactFile reads a file of a work tree for a node that writes an artifact: through the
// fence of a turn that only reads, and never outside of the tree.
func (t *Tenon) artifactFile(ctx context.Context, tree, path string) ([]byte, error) {
	tree, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return nil, fmt.Errorf("finding the work tree: %w", err)
	}
	rules, err := t.rules()
	if err != nil {
		return nil, err
	}
	cfg := t.fence(rules, permission.AccessRead)
	cfg.Root = tree
	fence, _, err := disk.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("preparing the fence: %w", err)
	}
	defer fence.Close() //nolint:errcheck // it was only read through
	named, err := json.Marshal(map[string]string{"from": path})
	if err != nil {
		return nil, err
	}
	args, err := tool.ParseArgs(nodes.Kind, named)
	if err != nil {
		return nil, err
	}
	raw, place, err := tools.File(ctx, fence, args, tree, t.made.Limits())
	var asked *tool.Asked
	at := place.Canonical
	if errors.As(err, &asked) {
		at = asked.Canonical
	}
	if rel, strange := filepath.Rel(tree, at); at != "" && (strange != nil || !filepath.IsLocal(rel)) {
		return nil, workflow.Errorf(workflow.CodeToolDenied, "%q leads out of the work tree, to %s: nothing was stored", path, at).
			WithHint("copy the file into the work tree")
	}
	return raw, fileError(path, err)
}

// fileError gives what the fence or the file refuses a code that a node can route.
func fileError(path string, err error) error {
	var denied *tool.Denied
	var asked *tool.Asked
	var failed *tool.Failed
	switch {
	case errors.As(err, &denied):
		return workflow.Errorf(workflow.CodeToolDenied, "the fence does not let %q be read: %s", path, denied.Verdict).
			WithHint("tenon explain path read %s tells why", path)
	case errors.As(err, &asked):
		return workflow.Errorf(workflow.CodeToolDenied, "a person would have to allow that %q is read: %s", path, asked.Verdict).
			WithHint("add an allow rule for Read(%s)", path)
	case errors.As(err, &failed):
		return workflow.Errorf(workflow.CodeInvalidArtifact, "%w", err)
	}
	return err
}
