// Package history is the fold of a run's events.
//
// Holds: State (Program, Gate, and what a driver remembers of open visits), the
// Result that people and programs are shown, snapshots of a State, and the Sink
// that makes payloads fit for the record.
//
// Guarantees: the same events give the same State, whether they are replayed or
// recorded just now; what a Sink has cleaned holds no known secret, and no value
// over the inline limit.
//
// Does not: read or write a store, or start anything.
package history
