//go:build race

package script_test

// raced tells that the race detector is on: scripts run some fifty times slower.
const raced = true
