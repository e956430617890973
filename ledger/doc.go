// Package ledger keeps the accounts of a tree of agents: the agent of a visit,
// those that it starts, and those below them.
//
// Holds: Tree, the fold of what agents started, reserved and used; its verdicts
// about the next agent and the next call.
//
// Guarantees: a spawn and a token are charged to the account of their agent and to
// every account above it, once, by their key. A limit that an agent declares holds
// for all below it, beside the limits above: a child can only have less. What a
// call may use is reserved before it is sent; usage that nobody told keeps its
// reservation. It is pure, and the same events give the same verdicts.
//
// Does not: know the budget of the run (admission does), or stop anything.
package ledger
