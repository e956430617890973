// Package provider is the contract between Tenon and a model vendor: one model
// turn, streamed, with its parts, its stop reason, its usage and its failure.
//
// Holds: [Provider], [Request], [Response], [Usage] and its one counting rule,
// [Error] and its closed codes, and [Classify], which turns what went wrong on
// the wire into an [Error].
//
// Guarantees: values of this package marshal to JSON and back without loss
// (except [Error.Err]), so a turn can be journaled and replayed. Unknown usage
// is nil, never 0. An error never contains the key it was made with.
//
// Does not: retry, time out, route, price, or touch a file. Implementations
// stand under this directory and do not see each other.
package provider
