package vm

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// fault is an error as the prelude writes and reads it.
type fault struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	Stack   string `json:"stack,omitempty"`
}

func faultOf(err error) *fault {
	var t *Thrown
	if errors.As(err, &t) {
		return &fault{Name: t.Name, Message: t.Message, Code: t.Code}
	}
	return &fault{Name: "Error", Message: err.Error()}
}

func (m *Machine) thrown(raw string) *Thrown {
	var f fault
	if err := json.Unmarshal([]byte(raw), &f); err != nil {
		return &Thrown{Message: "an error that cannot be read"}
	}
	return &Thrown{Name: f.Name, Message: f.Message, Code: f.Code, Frames: m.frames(f.Stack)}
}

var frameLine = text.MustPattern(`(?m)^\s*at (?:(.*?) \()?<eval>:(\d+)(?::(\d+))?\)?\s*$`)

// frames are the lines of a stack that lie in scripts.
func (m *Machine) frames(stack string) []Frame {
	var out []Frame
	for _, part := range frameLine().FindAllStringSubmatch(stack, 32) {
		line, err := strconv.Atoi(part[2])
		if err != nil {
			continue
		}
		col := 1
		if n, err := strconv.Atoi(part[3]); err == nil {
			col = n
		}
		if f, ok := m.frame(strings.Trim(part[1], "<>"), line, col); ok {
			out = append(out, f)
		}
	}
	return out
}

// frame maps a place of the code to its script; ok is false when it lies in none.
func (m *Machine) frame(name string, line, col int) (Frame, bool) {
	for i := len(m.scripts) - 1; i >= 0; i-- {
		l := m.scripts[i]
		if line <= l.before || line > l.before+l.script.size {
			continue
		}
		line -= l.before
		if line == 1 {
			col -= strings.Index(l.script.code, "use strict") + len(`use strict"; `)
		}
		fromLine, fromCol, ok := l.script.origin(line, col)
		if name == "anonymous" || name == "$main" {
			name = ""
		}
		return Frame{Func: name, File: l.script.File, Line: fromLine, Col: fromCol}, ok
	}
	return Frame{}, false
}
