//go:build race

package crash_test

// raced tells that the race detector is on.
const raced = true
