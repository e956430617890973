package verification_test

import (
	"strings"
	"testing"

	"github.com/tenonrun/tenon/verification"
)

// TestSuspect: what runners print when something failed.
func TestSuspect(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]string{
		"pytest":        "==== 1 failed, 3 passed in 0.12s ====",
		"pytest errors": "==== 2 passed, 1 error in 0.12s ====",
		"pytest quiet":  "1 failed, 3 passed in 0.12s",
		"pytest name":   "FAILED tests/test_a.py::test_b - assert 1 == 2",
		"unittest":      "Ran 2 tests in 0.1s\n\nFAILED (failures=1)",
		"go":            "--- FAIL: TestA (0.00s)\nFAIL",
		"go package":    "ok  \texample.com/a\t0.1s\nFAIL\texample.com/b\t0.2s",
		"go build":      "FAIL\texample.com/b [build failed]",
		"go subtest":    "    --- FAIL: TestA/b (0.00s)",
		"jest":          "Tests:       1 failed, 12 passed, 13 total",
		"jest suites":   "Test Suites: 2 skipped, 1 failed, 4 passed, 5 total",
		"vitest":        " Test Files  1 failed | 2 passed (3)",
		"vitest tests":  "      Tests  3 passed | 1 failed (4)",
		"mocha":         "  12 passing (30ms)\n  1 failing\n",
		"node":          "ℹ pass 3\nℹ fail 1",
		"tap":           "ok 1 - a\nnot ok 2 - b\n1..2",
		"cargo":         "test result: FAILED. 1 passed; 1 failed; 0 ignored",
		"cargo test":    "test a::b ... FAILED",
		"maven":         "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0",
		"maven errors":  "Tests run: 3, Failures: 0, Errors: 2, Skipped: 0",
		"maven build":   "[INFO] BUILD FAILURE",
		"gradle":        "3 tests completed, 1 failed",
		"gradle build":  "BUILD FAILED in 3s",
		"junit console": "[         1 tests failed          ]",
		"junit 4":       "FAILURES!!!",
		"phpunit":       "FAILURES!\nTests: 3, Assertions: 5, Failures: 1.",
		"phpunit count": "Tests: 3, Assertions: 5, Errors: 1, Failures: 0.",
		"rspec":         "3 examples, 1 failure",
		"rspec outside": "0 examples, 0 failures, 1 error occurred outside of examples",
		"minitest":      "3 runs, 3 assertions, 0 failures, 1 errors, 0 skips",
		"exunit":        "1 doctest, 3 tests, 1 failure",
		"dotnet":        "Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4",
		"dotnet old":    "     Failed: 2",
		"ctest":         "50% tests passed, 1 tests failed out of 2",
		"googletest":    "[  FAILED  ] Suite.Case (0 ms)",
		"xctest":        "Executed 3 tests, with 1 failure (0 unexpected) in 0.1 seconds",
		"deno":          "FAILED | 2 passed | 1 failed (30ms)",
		"bun":           " 2 pass\n 1 fail\n",
		"playwright":    "  1 failed\n    [chromium] › a.spec.ts:3:1 › b",
		"make":          "make[1]: *** [Makefile:3: test] Error 1",
		"script":        "3 failed",
		"told":          "FAIL: 3 tests failed",
		"told, one":     "FAILED: 1 failure in 3 tests",
		"failed tests":  "Failed tests: 3",
		"failing":       "  Failing specs: 1",
		"tests failed":  "Tests failed: 12",
		"jest indented": "  Tests: 2 failed, 1 passed",
		"jest tabbed":   "\tTest Suites:  1 failed, 1 total",
		"coloured":      "\x1b[1mTests:       \x1b[31m1 failed\x1b[39m, 2 passed",
		"windows lines": "Tests:       1 failed, 2 passed\r\nTime: 1s\r\n",
	} {
		if verification.Suspect(out, "") == "" || verification.Suspect("fine", "noise\n"+out+"\n") == "" {
			t.Errorf("%s: %q is taken for a pass", name, out)
		}
	}
}

// TestHonest: passing runs, with names and counts that only look like failures.
func TestHonest(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]string{
		"pytest":       "==== 3 passed, 1 xfailed, 2 warnings in 0.12s ====",
		"pytest names": "tests/test_failed.py::test_1_failed PASSED\n==== 1 passed in 0.1s ====",
		"go":           "=== RUN   TestFAIL\n--- PASS: TestFAIL (0.00s)\nPASS\nok  \texample.com/failed\t0.1s",
		"go log":       "    a_test.go:3: 1 failed as expected, 0 left\n--- PASS: TestA (0.00s)",
		"jest":         "Tests:       13 passed, 13 total\n✓ shows 1 failed when it should",
		"jest zero":    "Tests: 0 failed, 3 passed",
		"vitest":       " Test Files  3 passed (3)\n Tests  1 skipped | 3 passed (4)",
		"mocha":        "  ✔ reports failing tests\n  12 passing (30ms)\n  1 pending",
		"node":         "ℹ pass 3\nℹ fail 0",
		"tap":          "ok 1 - not ok is parsed\nnot ok 2 - later # TODO not written\nnot ok 3 - x # SKIP",
		"cargo":        "test parses_FAILED ... ok\ntest result: ok. 3 passed; 0 failed; 0 ignored",
		"maven":        "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
		"phpunit":      "OK (3 tests, 5 assertions)\nTests: 3, Assertions: 5, Warnings: 1.",
		"rspec":        "3 examples, 0 failures, 1 pending",
		"minitest":     "3 runs, 3 assertions, 0 failures, 0 errors, 0 skips",
		"dotnet":       "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3",
		"dotnet old":   "     Failed: 0",
		"ctest":        "100% tests passed, 0 tests failed out of 2",
		"xctest":       "Executed 3 tests, with 0 failures (0 unexpected)",
		"told zero":    "FAIL: 0 tests failed",
		"failed zero":  "Failed tests: 0\nFailing specs: 0\nTests failed: 0",
		"jest padded":  "  Tests: 0 failed, 1 passed\n  Tests: 3 passed, 3 total",
		"told by name": "ok FAIL: 3 tests failed is parsed\n  PASS  Failed tests: 3 are shown",
		"linter":       "0 errors, 3 warnings in 0.5s",
		"prose":        "retrying after 3 failed attempts\nAll 4992 tests passed.",
		"nothing":      "",
	} {
		if line := verification.Suspect(out, out); line != "" {
			t.Errorf("%s: %q is taken for a failure", name, line)
		}
	}
}

func TestSuspectReadsTheEnd(t *testing.T) {
	t.Parallel()
	for fill, want := range map[int]bool{15_900: true, 16_100: false} {
		if got := verification.Suspect("3 failed\n"+strings.Repeat("ä", fill), "") != ""; got != want {
			t.Errorf("before %d characters: %v", fill, got)
		}
	}
}

func FuzzSuspect(f *testing.F) {
	for _, s := range []string{"1 failed", "not ok 1 # TODO", "FAIL\ta\t0.1s", "\x1b[31m3 failing\x1b[0m", "\xff\n--- FAIL: T (0.0s)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if line := verification.Suspect(s, ""); strings.Contains(line, "\n") || line != "" && verification.Suspect(line, "") == "" {
			t.Errorf("%q in %q is no mark by itself", line, s)
		}
	})
}
