// Package pathid says which absolute path a spelling is, without a disk.
//
// Holds: the two families of paths, the screen for names that a Windows system
// gives to devices, the placement of a spelling under a base, the cut of an
// absolute glob pattern, and the checks of paths that are kept.
//
// Guarantees: every answer is the same on every host, for both families. A
// spelling that cannot be located is said to be so and never guessed. Nothing is
// expanded, trimmed, or compared without case here.
//
// Does not: follow links or ask whether anything exists.
package pathid
