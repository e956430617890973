// Package piece is the contract for the kinds of work behind the nodes of a
// graph.
//
// Holds: Piece (a kind with its closed params schema, its traits and its work),
// the Registry of the kinds a program knows, and the Context a piece works in.
//
// Guarantees: a Piece without Run is never executed; a Registry has each kind
// once and lists them in order.
//
// Does not: route. A piece returns an outcome; the graph decides what follows.
package piece

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenonrun/tenon/executor"
	"github.com/tenonrun/tenon/workflow"
)

// Piece is one kind of work.
type Piece struct {
	Kind string
	// Schema returns the closed JSON Schema of the params at a format level (1
	// or 2); nil when the kind does not exist there.
	Schema func(level int) json.RawMessage
	// Describe derives the traits from params that fit the schema, and checks
	// what a schema cannot say. It is pure.
	Describe func(params json.RawMessage, env Env) (Traits, []Problem)
	// Run does the work. It is called again from its start when the visit is
	// continued: everything before a question is memoised or pure. A nil Run
	// means that the graph carries the kind out itself, or see Missing.
	Run func(ctx context.Context, c Context) (workflow.Settled, error)
	// Body returns the body that the kind stands for, when it is made of other
	// kinds: the graph carries it out like a component with these params as its
	// inputs, and the exits of the body are the outcomes of the node. Run is nil
	// then. It is pure, and the same for the same params at every level.
	Body func(params json.RawMessage) (workflow.Body, error)
	// Certifies says that a result of Run may propose Settled.Verified.
	Certifies bool
	// Processes says that Run starts host processes under the run's marker; they
	// are ended when their owner died, before the visit is judged.
	Processes bool
	// Missing says why the kind can be validated but not run; "" when it can.
	Missing string
}

// Traits are what a node is, given its params.
type Traits struct {
	Outcomes  []string // in order; the node's ends hold exactly these
	Effect    workflow.Effect
	AI        bool
	Provider  string // of the AI, when it is known
	Model     string
	Uncertain bool // a lost write attempt cannot be judged by evidence
	Steerable bool // takes steering
	// Shares names the private state that the nodes of a body have in common;
	// "" keeps a node's private state to itself.
	Shares string
}

// Env is what traits may depend on. It is the same at validation and at run
// time.
type Env struct {
	Level      int
	Script     bool // a script starts it, not a definition
	Structural bool // configuration is not known: roles are assumed read, providers known
	Pinned     bool // of a run: what its nodes name was resolved when it began, and may be gone
	Roles      map[string]workflow.Role
	Declared   []string // roles the definition lists
	// Backend returns the capabilities behind a provider's name.
	Backend func(provider string) (executor.Capabilities, bool)
	// Providers are the configured names, for hints. Broken returns why one of them
	// cannot be used; nil does not know.
	Providers []string
	Broken    func(provider string) error
	// Routed says that a model is chosen where neither a node nor a role names a
	// provider. Model returns why a name of a model leads nowhere; nil does not know.
	Routed bool
	Model  func(name, provider string) error
}

// Problem is a defect of the params.
type Problem struct {
	Code    workflow.Code
	Pointer string // JSON pointer below the params, such as "/expr"
	Message string
	Hint    string
	Warning bool // it does not make the document invalid
}

// Context is what a running piece may use. Pieces that need more assert the
// small interfaces below.
type Context interface {
	Frame() Frame
	// Lookup reads the state of the visit's scope: a root such as "$vars" and a
	// path below it.
	Lookup(ctx context.Context, root string, path ...string) (value any, ok bool, err error)
	// Load returns the text of a value.
	Load(v workflow.Value) (json.RawMessage, error)
	// Turn runs one agent turn; its calls are admitted and memoised.
	Turn(ctx context.Context, t executor.Turn) (executor.Reply, error)
	// Ask returns the answer to a durable question, or ErrPaused when there is
	// none yet: the piece then returns that error and is run again later.
	Ask(ctx context.Context, a Ask) (workflow.Answer, error)
	// Progress shows a transient sign of life.
	Progress(p executor.Progress)
	// Note records something worth keeping in the history.
	Note(ctx context.Context, kind, message string) error
}

// ErrPaused ends a Run that waits for an answer.
var ErrPaused = fmt.Errorf("piece: waits for an answer")

// Candidater is a Context that can hash the work tree.
type Candidater interface {
	// Candidate returns the digest of the work tree as it is now.
	Candidate(ctx context.Context) (string, error)
}

// Prover is a Context that keeps receipts and knows what they prove.
type Prover interface {
	// Keep records a receipt; it is durable when Keep returns. A receipt is kept
	// twice: pending, before its first command starts, and with its end.
	Keep(ctx context.Context, e workflow.EvidenceKept) error
	// Proof returns the newest candidate that a receipt of this run certifies,
	// also when a write came after it; nil when there is none. Whoever relies on
	// it compares it with the candidate as it is now.
	Proof(ctx context.Context) (*workflow.Verified, error)
}

// Desk is a Context with a directory of the visit's own, outside of every work
// tree, where a write of several files is prepared so that it can be finished
// after a crash.
type Desk interface {
	// Dir makes the directory and returns its absolute path. It is the same for
	// all attempts of a visit.
	Dir() (string, error)
}

// Frame is where a piece runs.
type Frame struct {
	Run          workflow.RunID
	Visit        workflow.VisitID
	Node         string // path of node names
	Number       int    // visit number
	Scope        string
	Attempt      int
	Kind         string
	Level        int             // format of the definition; 2 in a script
	Script       bool            // a script starts it, not a definition
	ByAgent      bool            // an agent started the run: the host runs no commands for it
	Params       json.RawMessage // interpolated
	Traits       Traits
	Context      workflow.VisitContext
	Steering     []string // claimed by this attempt, oldest first
	Repositories []workflow.RepositoryInfo
	Roles        map[string]workflow.Role
	// Backends are the capabilities that the run is pinned to, by provider; one
	// that is not here is what it is configured to be.
	Backends map[string]executor.Capabilities
	Policies workflow.Policies
	Launch   workflow.Launch
	Checks   []workflow.Check // the configured verification plan
	Setup    []workflow.Check // the configured commands that prepare it
	Deadline workflow.Time    // when the time of the run is up; 0 is never
	Timeouts workflow.Timeouts
	Now      workflow.Time // of the admission
}

// Ask is a question of a piece. Round names it inside its visit, from 1, or Key
// where there is no order.
type Ask struct {
	Round   int
	Key     string
	Kind    string // workflow.AskQuestion, …
	Text    string
	Schema  json.RawMessage
	Options []string
	Bound   string        // candidate the answer is about
	Timeout workflow.Time // duration in microseconds until it expires; 0 never
}

// Registry is the closed set of kinds.
type Registry struct {
	byKind map[string]Piece
	order  []string
}

// NewRegistry makes a registry; a kind that is there twice, or has no name,
// schema or description, is an error.
func NewRegistry(pieces ...Piece) (*Registry, error) {
	r := &Registry{byKind: make(map[string]Piece, len(pieces))}
	for _, p := range pieces {
		switch _, twice := r.byKind[p.Kind]; {
		case p.Kind == "" || p.Schema == nil || p.Describe == nil:
			return nil, fmt.Errorf("registering piece %q: it needs a kind, a schema and a description", p.Kind)
		case twice:
			return nil, fmt.Errorf("registering piece %q: the kind is registered already", p.Kind)
		}
		r.byKind[p.Kind] = p
		r.order = append(r.order, p.Kind)
	}
	return r, nil
}

// Get returns the piece of a kind.
func (r *Registry) Get(kind string) (Piece, bool) {
	p, ok := r.byKind[kind]
	return p, ok
}

// Kinds returns the kinds that exist at a level, in order of registration.
func (r *Registry) Kinds(level int) []string {
	return slices.DeleteFunc(slices.Clone(r.order), func(k string) bool { return r.byKind[k].Schema(level) == nil })
}
