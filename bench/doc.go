// Command bench measures Tenon and its peers side by side.
//
// Holds: the jobs J1 to J10 and the memory job, one file each; the arena that
// builds the contenders and gives each job of each round a process and a
// directory of its own; the bars that Tenon must reach; the table.
//
// Guarantees: contenders take turns within a round, a ratio is the median of
// the ratios of rounds, and a contender counts as one that syncs only when its
// syncs were counted in this run.
//
// Does not: judge absolute figures. They are printed; only ratios make it fail.
package main
