// Package shelf keeps what the runs of a project made: the collections of runs, and
// those of the project.
//
// Holds: the Shelf, which finds the collection of a run, gives forks and runs that
// go on what was made before them, and writes a lost log again from the histories.
//
// Guarantees: a run shares one collection with its child runs and their agents; a
// fork has what its parent had at the cut, by positions in the histories; no secret
// that the project knows is stored; what is written again has the ids, numbers and
// times of then, whoever does it, and what no history holds is named.
//
// Does not: store (disk does), or read files of work trees.
package shelf
