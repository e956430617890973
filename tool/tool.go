package tool

import (
	"context"
	"encoding/json"

	"github.com/tenonrun/tenon/workflow"
)

// Op is what a call wants to do with a place.
type Op string

// Operations. Enter is a change of the working directory.
const (
	OpNone   Op = ""
	OpRead   Op = "read"
	OpWrite  Op = "write"
	OpSearch Op = "search"
	OpEnter  Op = "enter"
)

// Base is the directory that a relative path of a call starts from.
type Base string

// Bases. With Cwd, a call that has no working directory starts from the root.
const (
	BaseRoot Base = "root"
	BaseCwd  Base = "cwd"
)

// Absent says what a call is about that names no path.
type Absent string

// Values of Absent.
const (
	AbsentNone Absent = "none" // no path at all
	AbsentBase Absent = "base" // the base itself
)

// Target declares which path a call is about. It is a fact of the tool: the
// fence and the tool both go by it. The zero value says that calls name no path.
type Target struct {
	Slot    string // name of the argument that holds the path
	Base    Base
	Absent  Absent
	Pattern string // name of the argument whose absolute glob pattern names a directory when Slot is absent; may be empty
	Op      Op
}

// Tool is one tool. A Set checks it when it is made.
type Tool struct {
	Name        string          // lower-case letters, digits and "_"
	Description string          // for the model: when to use it, what comes back, limits
	Schema      json.RawMessage // JSON Schema of the arguments: an object that allows no other keys
	Effect      workflow.Effect // read or write
	Target      Target
	Reading     Reading // how arguments are read before they are judged
	Alone       bool    // calls are done one after the other, in their order, although they change no file
	Run         func(ctx context.Context, c Call) (Result, error)
}

// Call is one call of a tool, read and judged.
type Call struct {
	ID      string // of the call, as the model named it
	Run     workflow.RunID
	Visit   workflow.VisitID
	Step    string // names the call inside the visit: the same when it is done again after a crash; "" when nobody resumes
	Tool    string
	Args    *Args    // as the tool reads them; Args.From holds what the model sent, if that differs
	Place   Place    // the judged place of the tool's Target; zero when the call names none
	Fence   Fence    // the only way to files
	Cwd     string   // absolute working directory of the session; may be empty
	Session *Session // what earlier calls of the agent left
	Host    Host
	Given   func(tool string) bool // whether the agent has another tool; set by the Set
}

// Host is what the engine does for a tool that runs. A nil function is a thing
// that this engine cannot do; tools that need it say so.
type Host struct {
	// Announce journals a change before it is published. An error stops the write.
	// Nil when nobody resumes.
	Announce func(ctx context.Context, c Change) error
	// Ask puts a question to a person and gives the answer. The engine may park the
	// run instead: then the error is its own, and tools return it as it is.
	Ask func(ctx context.Context, q Question) (Answer, error)
	// Spawn has another agent do something, to its end. An error that is not one
	// the model can act on is the engine's own, and tools return it as it is.
	Spawn func(ctx context.Context, t Task) (TaskDone, error)
	// Progress tells people that something goes on.
	Progress func(line string)
}

// Task is work for another agent.
type Task struct {
	Agent  string // its name; empty for one like the agent that asks
	Prompt string
	Title  string // in a few words, for people
}

// TaskDone is what an agent gave.
type TaskDone struct {
	Agent      string          `json:"agent"`
	Text       string          `json:"-"`
	Structured json.RawMessage `json:"-"`
	Files      []string        `json:"files,omitempty"` // written, relative to the working directory
	Tokens     int64           `json:"tokens,omitempty"`
	Unknown    bool            `json:"unknown,omitempty"` // it used more than Tokens
	Drained    bool            `json:"drained,omitempty"` // a limit ended it: the work is partial
}

// Question is a question of a model to a person.
type Question struct {
	Text    string   `json:"question"`
	Options []Option `json:"options,omitempty"` // none for a free answer
	Free    bool     `json:"free"`              // an answer in own words is allowed
	Many    bool     `json:"many,omitempty"`    // more than one option may be chosen
}

// Option is one answer to choose.
type Option struct {
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
}

// Answer is what a person answered.
type Answer struct {
	Chosen []string `json:"chosen,omitempty"` // labels of options
	Text   string   `json:"text,omitempty"`   // own words
	By     string   `json:"by,omitempty"`     // who answered
}

// Result is what a call gives. Everything but Text can be rebuilt from a journal
// of results: a session is the fold of them.
type Result struct {
	Text    string          // for the model, bounded; when something was cut it says the true size
	Data    json.RawMessage // structured, for the journal and for people; small
	Seen    []Seen          // files as they were read
	Changes []Change        // files that were written
	Cwd     string          // new working directory of the session; empty when it did not change
	Made    *workflow.Made  // the revision of an artifact that was written
	Denied  *Verdict        // what the call did and may not do, and that was taken back
	Final   json.RawMessage // the answer of the turn, from a tool that ends it; nil otherwise
	Begun   string          // what goes on without the call, such as a run: the turn is told its end; "" is nothing
}

// Seen is the state of a file that the model knows.
type Seen struct {
	Path   string `json:"path"`   // canonical
	Digest string `json:"digest"` // lower hex SHA-256 of the whole file
}
