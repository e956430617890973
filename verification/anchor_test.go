package verification_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/verification"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]int{
		"Found 200 errors in 14 files.":                   200,
		"Found 1 error in a.ts:3":                         1,
		"==== 9 failed, 3 passed, 2 errors in 0.12s ====": 11,
		"9 failed": 9,
		"Test Suites: 1 failed, 4 passed\nTests:  5 failed, 9 total": 6,
		"✖ 1,200 problems (1,180 errors, 20 warnings)":               2380,
		"FAIL: 3 tests failed":                                       3,
		"Failed tests: 3":                                            3,
		"Tests run: 9, Failures: 2, Errors: 1":                       3,
		"\x1b[31m7 failing\x1b[0m\nAssertionError: x":                7,
		"0 errors, 3 warnings":                                       0,
		"0 failed\n--- FAIL: TestA (0.00s)":                          1,
		"--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL":     3,
		"a.go:3: undefined: x\na.go:4: undefined: y":                 2,
		strings.Repeat("a.c:3: error: no\n", 40):                     40,
		"nothing to see":                                             0,
		"99999999999999999999 failed":                                0,
	} {
		if got := verification.Failures(output); got != want {
			t.Errorf("%q: %d, want %d", output, got, want)
		}
	}
}
