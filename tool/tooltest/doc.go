// Package tooltest is a small real fence for tests of tools.
//
// Holds: Fence, which keeps calls inside one directory of the disk and leaves out
// what a list denies, and Host, which records what tools announce and ask.
//
// Guarantees: links are followed the way the disk does it; both ends of a path
// count; what was judged is what is opened, or the call fails.
//
// Does not: know rules, modes or grants, or hold against somebody who swaps links
// in the moment of opening: that is the work of the real one.
package tooltest
