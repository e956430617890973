// Package shell reads shell strings before they run.
//
// Holds: the search for pipelines whose failure nobody would see.
//
// Guarantees: pure; positions point into the text that was given. A pipeline is
// reported only if its status is dropped although the shell has pipefail on.
//
// Does not: run anything, judge paths or permissions, or look into the output of
// substitutions: in `echo "$(a | b)"` the text is the result, not the status. The
// words given to eval or another shell are not read either.
package shell
