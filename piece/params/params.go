// Package params reads the params of pieces.
//
// Holds: the choice of a kind's schema by format level, decoding, and what the
// checks of several kinds share.
//
// Guarantees: nothing here changes params; the same params give the same
// problems.
//
// Does not: validate against a schema. The loader does that before a piece sees
// the params.
package params

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tenonrun/tenon/workflow"
)

// Schemas returns the schema function of a kind. files holds
// "schema/KIND.LEVEL.json", or "schema/KIND.json" for all levels; a kind that
// has neither does not exist at the level.
func Schemas(files fs.FS, kind string) func(level int) json.RawMessage {
	return func(level int) json.RawMessage {
		for _, name := range []string{fmt.Sprintf("schema/%s.%d.json", kind, level), "schema/" + kind + ".json"} {
			if raw, err := fs.ReadFile(files, name); err == nil {
				return raw
			}
		}
		return nil
	}
}

// Read decodes params into a struct. The error has code
// CodeInvalidPieceParams.
func Read[T any](raw json.RawMessage) (T, error) {
	var p T
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, workflow.Errorf(workflow.CodeInvalidPieceParams, "reading params: %w", err)
	}
	return p, nil
}

// Open reports whether s holds a token that is replaced when the node is
// admitted, so that nothing can be said about s before.
func Open(s string) bool { return strings.Contains(s, "{{") }

// Duration reads a positive duration such as "90s" or "36h".
func Duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a positive duration; write it like 90s, 15m or 36h", s)
	}
	return d, nil
}
