// Package draw makes pictures of workflows.
//
// Holds: the Graph that is drawn, the state of a run laid over it, our own
// layered layout, and four ways to write it: text for a terminal, SVG, Mermaid
// and DOT.
//
// Guarantees: the same graph gives the same bytes; every text of a definition is
// escaped; an SVG has no script, no link and no font of its own, and follows the
// colours of its reader.
//
// Does not: read definitions or runs; whoever draws fills in a Graph.
package draw
