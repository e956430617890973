package model

import (
	"strings"

	"github.com/tenonrun/tenon/internal/text"
	"github.com/tenonrun/tenon/piece/result"
)

// Sentinels of a prompt.
const (
	sentinelVerification = "verification"
	sentinelBlocked      = "blocked"
)

var (
	verdictMark = text.MustPattern(`(?i)\bVERIFICATION:\s*(PASS|FAIL)\b`)
	blockedMark = text.MustPattern(`(?m)^[ \t]*LOOP_BLOCKED:\s*(\S.*)$`)
)

// verification returns the last verdict in an answer: pass, fail or "".
func verification(answer string) string {
	all := verdictMark().FindAllStringSubmatch(answer, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.ToLower(all[len(all)-1][1])
}

// blocked returns the question of the first line that says it cannot go on, or
// "".
func blocked(answer string) string {
	m := blockedMark().FindStringSubmatch(answer)
	if m == nil {
		return ""
	}
	return text.Head(strings.TrimSpace(m[1]), result.MaxQuestion, "…")
}

// protocol tells the model the sentinel of its prompt, unless the text does.
func protocol(p promptParams) string {
	switch {
	case p.Sentinel == sentinelVerification && !strings.Contains(strings.ToUpper(p.Text), "VERIFICATION:"):
		return "End with one line: VERIFICATION: PASS or VERIFICATION: FAIL."
	case p.Sentinel == sentinelBlocked && !strings.Contains(p.Text, "LOOP_BLOCKED:"):
		return "If a person has to decide something before you can go on, stop and write one line: LOOP_BLOCKED: followed by the question."
	}
	return ""
}
