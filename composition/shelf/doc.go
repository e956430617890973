// Package shelf keeps published versions of agents, skills and compositions in a
// directory.
//
// Holds: records of versions and their contents by digest.
//
// Guarantees: a version that was published never changes; the same version with
// other content is refused. A record is there as a whole or not at all, after a
// crash too, and any number of processes may publish at one time: revisions of a
// name count from 1 without holes. What is read is what its digest says.
//
// Does not: know tiers apart but for their name: whoever opens a shelf gives each
// project its own directory. It deletes nothing.
package shelf
