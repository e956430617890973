// Package scripted is a deterministic provider that answers from a YAML or
// JSON script, for demos, tests, and to try a workflow without paying.
//
//	version: 1
//	replies:
//	  - match: fix the bug        # in the last user text; /.../ is a regular expression
//	    turn: 1                   # first call of the conversation
//	    text: on it
//	    tool_calls: [{name: read, args: {path: main.go}}]
//	    usage: {in: 900, out: 40}
//	  - match: fix the bug
//	    json: {verdict: done}
//	    files: [{path: main.go, content: "package main\n"}]
//
// The first reply whose conditions all hold answers: match, system, model,
// node, command, turn, attempt. An empty condition always holds. A reply with
// times answers that often and is then passed over.
//
// Holds: [Script], its loader, and the [Provider].
//
// Guarantees: the same request gets the same answer, in any process, except
// where times is used: it counts per process and in the order of arrival. What
// must be the same after a resume conditions on attempt, which the host gives
// in [provider.Request].Metadata, in place of times.
//
// Does not: write the files of a reply (its executor does), or call anyone.
package scripted
