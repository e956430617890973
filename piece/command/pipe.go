package command

import (
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workspace/shell"
)

// CheckLine returns the defects of a shell string: it does not parse, or drops
// the status of a pipeline.
func CheckLine(line string) []*workflow.Error {
	pipes, err := shell.Pipes(line)
	if err != nil {
		return []*workflow.Error{workflow.Errorf(workflow.CodeInvalidPieceParams, "%w", err)}
	}
	var defects []*workflow.Error
	for _, p := range pipes {
		defects = append(defects, workflow.Errorf(workflow.CodeUncheckedPipe,
			"nobody sees a failure of the pipeline %q (line %d, column %d): its status is dropped", p.Text, p.Line, p.Column).
			WithHint("join it to what follows with &&, or put it last"))
	}
	return defects
}
