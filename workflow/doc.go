// Package workflow is the vocabulary of Tenon: the nouns that every other
// room speaks and that cross its borders.
//
// Holds: the Definition of a graph, the pure Program that decides a run with
// its Commands (wishes) and Events (facts), runs and their Status, Questions,
// Usage, Effects, and the closed list of error Codes.
//
// Guarantees: standard library only; values are plain data; a stored event of
// any earlier version decodes, and decodes to the same meaning.
//
// Does not: read files, know a clock, talk to a model, or decide anything.
package workflow
