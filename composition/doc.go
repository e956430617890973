// Package composition says which agents work together: definitions of agents,
// skills and trees of agents, and what a name in them stands for.
//
// Holds: references and versions, the authored forms (Agent, Skill, Composition)
// with their readers, the Catalog of all that can be named, Resolve, which pins
// every reference, the Lock that keeps the pins, limits, capabilities, selections
// of tools, and Compose, which joins the permissions of all planes.
//
// Guarantees: pure. Equal items in any order give equal results, bytes and digests
// on every machine. A document is refused with all of its defects, each with its
// place; so is a tree. Only published versions are resolved, and drafts where the
// caller asks for them. A plane never grants: it can only deny and ask.
//
// Does not: read files (composition/files) or keep versions (composition/shelf),
// choose models (routing), render a context (runcontext), or count (ledger).
package composition
