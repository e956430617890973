package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/tool"
	"github.com/tenonrun/tenon/workflow"
)

// readName is the tool whose rules hold for a file that becomes an artifact.
const readName = "read"

// slot is the argument that names the file.
const slot = "from"

// File reads the file that the argument "from" of a call names, as a tool that
// reads would: the fence judges it by the rules for read. Errors are those of the
// fence, or tell what is wrong with the file; one that is too large has
// workflow.CodeArtifactTooLarge.
func File(ctx context.Context, f tool.Fence, args *tool.Args, cwd string, limits artifact.Limits) ([]byte, tool.Place, error) {
	place, err := f.Judge(ctx, tool.Request{
		Tool: readName, Effect: workflow.EffectRead, Args: args, Cwd: cwd,
		Target: tool.Target{Slot: slot, Base: tool.BaseCwd, Absent: tool.AbsentNone, Op: tool.OpRead},
	})
	if err != nil {
		return nil, place, err
	}
	name := tool.Quote(place.Spelled)
	file, err := f.Open(ctx, place)
	if errors.Is(err, fs.ErrNotExist) || !place.Exists {
		return nil, place, &tool.Failed{What: "there is no file " + name + ": nothing was stored", Next: "write it first, or name another one"}
	}
	if err != nil {
		return nil, place, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	most := limits.Most()
	if size := file.Info().Size; size > most {
		return nil, place, tooLarge(name, fmt.Sprintf("%d bytes", size), most)
	}
	raw, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, place, &tool.Failed{What: "reading " + name, Err: err}
	}
	if int64(len(raw)) > most { // it grows
		return nil, place, tooLarge(name, "more bytes", most)
	}
	return raw, place, nil
}

func tooLarge(name, size string, most int64) error {
	return workflow.Errorf(workflow.CodeArtifactTooLarge, "the file %s has %s, the limit of an artifact is %d: nothing was stored", name, size, most).
		WithHint("split it into several artifacts, or raise artifacts.maxBytes")
}
