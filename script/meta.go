package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tenonrun/tenon/internal/schema"
	"github.com/tenonrun/tenon/script/vm"
	"github.com/tenonrun/tenon/workflow"
)

// MaxSource is the largest script, in bytes.
const MaxSource = vm.MaxSource

// Meta is what a script says about itself.
type Meta struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	WhenToUse   string          `json:"whenToUse,omitempty"`
	Phases      []Phase         `json:"phases,omitempty"`
	Args        json.RawMessage `json:"args,omitempty"` // JSON Schema; absent: any
}

// Phase is a group of agents that a script announces.
type Phase struct {
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
	Model  string `json:"model,omitempty"`
}

// Read reads only the meta of a script; the file is for messages.
func Read(file string, source []byte) (Meta, error) {
	raw, err := vm.Meta(file, source)
	if err != nil {
		return Meta{}, refused(err)
	}
	return readMeta(file, raw)
}

// Check judges a whole script without running it.
func Check(file string, source []byte) (Meta, error) {
	s, err := vm.Parse(file, source)
	if err != nil {
		return Meta{}, refused(err)
	}
	return readMeta(file, s.Meta)
}

// refused gives a syntax error its code.
func refused(err error) error {
	var e *vm.SyntaxError
	if errors.As(err, &e) {
		return &workflow.Error{Code: workflow.CodeInvalidDefinition, Msg: err.Error(), Err: err}
	}
	return err
}

// IsScript reports whether a document is a script and no definition.
func IsScript(document []byte) bool {
	text := strings.TrimSpace(strings.TrimPrefix(string(document[:min(len(document), 64)]), "\ufeff"))
	return strings.HasPrefix(text, "export") || strings.HasPrefix(text, "//") || strings.HasPrefix(text, "/*") || strings.HasPrefix(text, "#!")
}

func readMeta(file string, raw json.RawMessage) (Meta, error) {
	bad := func(format string, args ...any) error {
		return workflow.Errorf(workflow.CodeInvalidDefinition, "%s: meta: %s", file, fmt.Sprintf(format, args...))
	}
	var m Meta
	if err := json.Unmarshal(raw, &m); err != nil {
		var t *json.UnmarshalTypeError
		if errors.As(err, &t) {
			return m, bad("%s must not be a %s", t.Field, t.Value)
		}
		return m, bad("%v", err)
	}
	switch {
	case strings.TrimSpace(m.Name) == "":
		return m, bad("name is missing")
	case strings.TrimSpace(m.Description) == "":
		return m, bad("description is missing")
	}
	for i, p := range m.Phases {
		if strings.TrimSpace(p.Title) == "" {
			return m, bad("phases[%d] has no title", i)
		}
	}
	if m.Args != nil {
		if _, err := schema.Compile(m.Args); err != nil {
			return m, bad("args is not a JSON Schema: %v", err)
		}
	}
	return m, nil
}

// Arguments judges the args of a call by the meta of the script. args is nil when
// there are none. A text that stands for the object or list that the script asks
// for is read as that, with a warning.
func Arguments(m Meta, args json.RawMessage) (out json.RawMessage, warning string, err error) {
	if m.Args == nil {
		return args, "", nil
	}
	s, err := schema.Compile(m.Args)
	if err != nil {
		return nil, "", workflow.Errorf(workflow.CodeInvalidInputs, "workflow %s: meta.args is not a JSON Schema: %w", m.Name, err)
	}
	value := args
	if value == nil {
		value = json.RawMessage("null")
	}
	problems := s.Validate(value)
	if problems == nil {
		return args, "", nil
	}
	var text string
	if json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"' && json.Valid([]byte(text)) {
		inner := json.RawMessage(strings.TrimSpace(text))
		if len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') && s.Validate(inner) == nil {
			return inner, "args came as text and were read as JSON; pass them as a JSON value", nil
		}
	}
	if args == nil {
		return nil, "", workflow.Errorf(workflow.CodeInvalidInputs, "workflow %s needs args", m.Name).WithHint("pass them with --args '{…}'")
	}
	return nil, "", workflow.Errorf(workflow.CodeInvalidInputs, "args of workflow %s: %w", m.Name, problems).WithHint("meta.args of the script says what it takes")
}
