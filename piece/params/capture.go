package params

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/tenonrun/tenon/workflow"
)

// Capture takes a variable out of a text: the first match of Pattern, or the
// group Group of it (default 1).
type Capture struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
	Group   *int   `json:"group"`
}

// Check reports what is wrong with the pattern. Only patterns that can be
// matched in linear time are understood: no look-around, no back references.
func (c Capture) Check() error {
	if _, err := syntax.Parse(c.Pattern, syntax.Perl); err != nil {
		return fmt.Errorf("the pattern of %s is not understood: %w", c.Name, err)
	}
	return nil
}

func (c Capture) find(text string) (string, bool, error) {
	re, err := regexp.Compile(c.Pattern)
	if err != nil {
		return "", false, workflow.Errorf(workflow.CodeInvalidExpression, "matching the pattern of %s: %w", c.Name, err)
	}
	group := 1
	if c.Group != nil {
		group = *c.Group
	}
	at := re.FindStringSubmatchIndex(text)
	if 2*group >= len(at) || at[2*group] < 0 {
		return "", false, nil
	}
	return text[at[2*group]:at[2*group+1]], true, nil
}

// CaptureAll returns the variables that are found in text. A pattern that does
// not match leaves its variable out.
func CaptureAll(captures []Capture, text string) (map[string]string, error) {
	vars := map[string]string{}
	for _, c := range captures {
		value, ok, err := c.find(text)
		if err != nil {
			return nil, err
		}
		if ok {
			vars[c.Name] = value
		}
	}
	return vars, nil
}
