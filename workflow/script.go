package workflow

// ScriptOptions are the rules of a run of a script.
type ScriptOptions struct {
	MaxAgents   int    `json:"maxAgents,omitempty"`   // agents that it may start; 0 is DefaultMaxAgents
	Concurrency int    `json:"concurrency,omitempty"` // agents at once; 0 is DefaultScriptAgents
	WarnAgents  int    `json:"warnAgents,omitempty"`  // number after which it warns; 0 is DefaultWarnAgents
	Reuse       *Reuse `json:"reuse,omitempty"`       // what it takes over from another run
}

// Bounds of scripts.
const (
	DefaultMaxAgents    = 1000
	HighestMaxAgents    = 100_000
	DefaultScriptAgents = 16
	HighestScriptAgents = 256
	DefaultWarnAgents   = 25
)

// Ways in which an edited script takes over what an earlier run settled.
const (
	ReusePrefix    = "prefix"    // the calls before the first that is changed, failed or unfinished
	ReuseUnchanged = "unchanged" // every call that is unchanged
)

// Reuse is what a run of an edited script takes over.
type Reuse struct {
	From  RunID  `json:"from"`
	Mode  string `json:"mode"`
	Calls Value  `json:"calls"` // list, as package script writes it
}

// Kinds of notes that a script leaves.
const (
	NoteLog     = "log"     // its own words
	NotePhase   = "phase"   // later agents belong to it
	NoteWarning = "warning" // of the host
)

// Log asks to record a note, as a Progress whose event has the same id.
type Log struct {
	ID      string
	Kind    string // one of the notes
	Message string
}

// CommandID is the structural name of the note.
func (c Log) CommandID() string { return c.ID }

// Codes of scripts.
const (
	CodeScriptFailed  Code = "script_failed"  // an error left the script
	CodeScriptEndless Code = "script_endless" // it did not come back
	CodeScriptMemory  Code = "script_memory"
)
