// Package verification is the vocabulary of evidence: what is checked, what the
// host saw, and what follows from it.
//
// Holds: Check and its Policy, Evidence of one check, the Receipt that binds the
// evidence of a plan to one candidate, the order in which checks may run, the
// judgement of an exit code against the output beside it, the reading of
// failures, and the report of a receipt within bounds.
//
// Guarantees: pure; the same receipt gives the same digest, verdict and report.
// A Receipt is valid only as Judge says, and no function here takes a text of a
// model for anything. A receipt that leaves a repository out never counts as
// full.
//
// Does not: run, read or hash anything. Package verification/host does.
package verification
