// Package graph is the Program of definitions: it walks nodes and bodies.
//
// Holds: the Factory, the compiled form of a definition, the state of a run
// (scopes with their variables, outputs and history; open visits; fans of maps
// and parallels), and the control kinds that need nothing but this state.
//
// Guarantees: pure and deterministic; commands are queued while events are
// applied, so batches never change them; branches see only their own scope;
// a snapshot holds references for values over workflow.InlineLimit.
//
// Does not: know a clock, a store, a piece's work, or permits.
package graph
