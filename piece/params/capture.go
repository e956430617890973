package params

import (
	"github.com/tenonrun/tenon/workflow"
	"github.com/tenonrun/tenon/workflow/expr"
)

// Capture takes a variable out of a text: the first match of Pattern, or the
// group Group of it (default 1).
type Capture struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	Group   *int   `json:"group"`
}

// Check reports what is wrong with the pattern.
func (c Capture) Check() error {
	_, err := expr.CompileCapture(c.Pattern, c.Group)
	return err
}

// CaptureAll returns the variables that are found in text. A pattern that does
// not match leaves its variable out.
func CaptureAll(captures []Capture, text string) (map[string]string, error) {
	vars := map[string]string{}
	for _, c := range captures {
		capture, err := expr.CompileCapture(c.Pattern, c.Group)
		if err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalidExpression, "capturing %s: %w", c.Name, err)
		}
		if value, ok := capture.Find(text); ok {
			vars[c.Name] = value
		}
	}
	return vars, nil
}
