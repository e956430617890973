package artifact_test

import (
	"testing"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]artifact.Address{
		"chart":        {ID: "chart", Version: artifact.Latest},
		"chart@3":      {ID: "chart", Version: 3},
		"team/chart":   {Collection: "team", ID: "chart", Version: artifact.Latest},
		"team/chart@3": {Collection: "team", ID: "chart", Version: 3},
	} {
		if got, err := artifact.ParseAddress(s); err != nil || got != want || got.String() != s {
			t.Errorf("%s is %+v (%v)", s, got, err)
		}
	}
	for s, code := range map[string]workflow.Code{
		"": workflow.CodeInvalidArtifactID, "a/b/c": workflow.CodeInvalidArtifactID, "../b": workflow.CodeInvalidArtifactID, "/b": workflow.CodeInvalidArtifactID,
		"a@": workflow.CodeInvalidArguments, "a@0": workflow.CodeInvalidArguments, "a@x": workflow.CodeInvalidArguments, "a@-1": workflow.CodeInvalidArguments,
	} {
		if _, err := artifact.ParseAddress(s); workflow.CodeOf(err) != code {
			t.Errorf("%q is refused with %v", s, err)
		}
	}
}
