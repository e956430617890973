package verification

import (
	"strings"

	"github.com/tenonrun/tenon/internal/text"
)

// honestTail is how much of the end of a stream is read, in code points.
const honestTail = 16_000

// marks are what runners print when something failed. All are bound to the start
// of a line and to the shape of a summary, so that the name of a passing test
// and "0 failed" are no marks.
var marks = text.MustPattern(`(?m)^(?:` + strings.Join([]string{
	`=+ (?:.*, )?[1-9]\d* (?:failed|errors?)\b.* in [\d.:]+.*=+`,                                              // pytest
	`[1-9]\d* (?:failed|errors?)(?:, .*)? in [\d.]+s\b.*`,                                                     // pytest -q
	`(?:FAILED|ERROR) \S+\.py::\S+.*`,                                                                         // pytest
	`FAILED \((?:failures|errors|unexpected successes)=[1-9].*\)`,                                             // unittest
	`\s*--- FAIL: \S+ \([\d.]+s\)`,                                                                            // go test
	`FAIL(?:\s+\S+/?\S*(?:\s+(?:[\d.]+s|\[.* failed\]))?)?\s*`,                                                // go test, jest
	`[ \t]*(?:Tests|Test Suites|Snapshots):[ \t]+(?:\d+ \w+, )*[1-9]\d* failed\b.*`,                           // jest
	`\s*(?:Tests|Test Files)\s+(?:\d+ \w+ \| )*[1-9]\d* failed\b.*`,                                           // vitest
	`\s+[1-9]\d* failing\s*`,                                                                                  // mocha
	`\s*[1-9]\d* (?:tests? |specs? |checks? |suites? |scenarios? )?failed(?:$|[,.] *\d.*|[,.]? *$|\s+in\s.*)`, // playwright, cucumber, plain scripts
	`\s*[1-9]\d* fail\s*`,                                                                                     // bun
	`(?:#|ℹ) fail [1-9]\d*\s*`,                                                                                // node:test
	`test result: FAILED\..*`,                                                                                 // cargo
	`test \S.* \.\.\. FAILED\s*`,                                                                              // cargo
	`error: (?:test failed, to rerun|could not compile) .*`,                                                   // cargo
	`(?:\[\w+\]\s+)?Tests run: \d+,\s+(?:Failures: [1-9]|Failures: \d+,\s+Errors: [1-9]).*`,                   // maven, junit
	`(?:\[\w+\]\s+)?BUILD FAILURE\s*`,                                                                         // maven
	`BUILD FAILED(?: in .*)?\s*`,                                                                              // gradle, ant
	`\d+ tests? completed, [1-9]\d* failed.*`,                                                                 // gradle
	`\[\s+[1-9]\d* tests failed\s+\]`,                                                                         // junit console
	`(?:FAILURES|ERRORS)!(?:!!)?\s*`,                                                                          // phpunit, junit 4
	`Tests: \d+, Assertions: \d+, (?:.*, )?(?:Errors|Failures): [1-9].*`,                                      // phpunit
	`\d+ examples?, (?:[1-9]\d* failures?|.*[1-9]\d* errors? occurred outside of examples).*`,                 // rspec
	`\d+ runs, \d+ assertions, (?:[1-9]\d* failures|\d+ failures, [1-9]\d* errors).*`,                         // minitest
	`(?:\d+ doctests?, )?\d+ tests?, [1-9]\d* failures?.*`,                                                    // exunit
	`Failed!\s+- Failed:\s+[1-9].*`,                                                                           // dotnet
	`\s*(?:Failed|Failures)\s*:\s*[1-9]\d*\s*`,                                                                // dotnet, others
	`[ \t]*(?:(?:Failed|Failing) (?:tests?|specs?|checks?|suites?|scenarios?)|(?:Tests?|Specs?|Checks?|Suites?|Scenarios?) failed)[ \t]*:[ \t]*[1-9]\d*\s*`, // plain scripts
	`FAIL(?:ED|URE)?:[ \t]+[1-9]\d* (?:\w+ )?(?:failed|failures?|errors?)\b.*`,                                                                              // plain scripts
	`Test Run Failed\.\s*`,                                   // dotnet
	`\d+% tests passed, [1-9]\d* tests? failed out of \d+`,   // ctest
	`\[  FAILED  \] .*`,                                      // googletest
	`\s*Executed \d+ tests?, with [1-9]\d* failures?.*`,      // xctest
	`FAILED \| \d+ passed.*`,                                 // deno
	`npm (?:ERR!|error) (?:code ELIFECYCLE|Test failed\.).*`, // npm
	`\S*make(?:\[\d+\])?: \*\*\* .* Error \d+\s*`,            // make
}, "|") + `)$`)

// notOK is a failure in TAP, unless a directive behind it excuses it.
var (
	notOK   = text.MustPattern(`(?m)^not ok\b.*$`)
	excused = text.MustPattern(`(?i)#\s*(?:todo|skip)\b`)
)

// Suspect returns the line in which the output of a command that exited with 0
// says that something failed, or "". It reads the end of each stream.
func Suspect(stdout, stderr string) string {
	for _, s := range []string{stdout, stderr} {
		s = text.Tail(strings.ReplaceAll(Plain(s), "\r\n", "\n"), honestTail, "")
		if line := firstMark(s); line != "" {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "\n")
			return text.Head(line, 256, "…")
		}
	}
	return ""
}

func firstMark(s string) string {
	if line := marks().FindString(s); line != "" {
		return line
	}
	for _, line := range notOK().FindAllString(s, -1) {
		if !excused().MatchString(line) {
			return line
		}
	}
	return ""
}

var control = text.MustPattern(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)

// Plain returns output without the codes that colour it.
func Plain(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return control().ReplaceAllString(s, "")
}
