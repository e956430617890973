// Package bounds says what an agent may have at most.
//
// Holds: the tools that every agent has (the floor), classes of tools, selections of
// tools and what they select, capabilities, and limits of trees of agents.
//
// Guarantees: pure. What holds for a part is never more than what holds for the
// whole: Within only takes away.
//
// Does not: judge calls (permission), or count (ledger).
package bounds
