// Command docs keeps the documentation true to the code.
//
//	go run ./internal/docs          writes what is generated
//	go run ./internal/docs -check   fails when something is not as it says
//
// Holds: the drawing of the house, the pages of commands and params, and the
// checks of links, examples, codes, tests and dependencies that pages name.
//
// Guarantees: what it writes depends on the code only, so that it can be
// compared; every finding names its file and line.
//
// Does not: judge prose.
package main
