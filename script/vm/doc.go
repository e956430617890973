// Package vm runs workflow scripts in a sandboxed JavaScript machine.
//
// Holds: Script, a checked script with its meta literal, lowered code and the map
// from its lines to those of the source; Machine, one run of it; SyntaxError,
// Thrown and Bound, the ways in which a script fails.
//
// Guarantees: a script reaches no clock, randomness, file, network or process,
// and no code made from text; memory, depth and time are bounded; the same
// settlements in the same order lead to the same calls with the same names. The
// name of a call is made of the scopes it stands in and never of the order in
// which calls complete, as long as the script's own control flow does not depend
// on that order. Each settlement is followed by a full drain of what it leads to.
//
// Does not: know what the calls mean, or when they are settled. Promise.race and
// workers that share a queue see the order in which calls complete, and so do the
// names of what they call.
package vm
