package artifact_test

import (
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/artifacttest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	artifacttest.Run(t, func(*testing.T) artifact.Collections {
		return artifact.NewMemory(artifact.MemoryConfig{Limits: artifact.Limits{MaxBytes: artifacttest.MaxBytes}})
	})
}
