// Package crash holds the tests that kill Tenon.
//
// Holds: child processes that drive runs and kill themselves at a chosen
// durable step, or are killed from outside at a random moment, and the
// comparison of what comes out with a run that nobody disturbed; rivals for one
// run; state that is damaged, read-only, full, or of a newer version.
//
// Guarantees: nothing here is imported by the program; every process that a
// test starts is gone when the test ends.
//
// The whole of it is `go test ./crash`; with -short or -race every way to die is
// tried in a sample of places. Tests that need a small disk of their own mount
// one, which takes root, and are skipped elsewhere.
//
// Does not: hold code of its own. There are only tests, and the project in
// testdata/project that they run.
package crash
