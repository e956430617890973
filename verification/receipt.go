package verification

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// States of a check.
const (
	StatePassed = "passed"
	StateFailed = "failed"  // it ran and said no, or said yes against its own output
	StateHung   = "hung"    // a limit or a signal ended it
	StateBroken = "broken"  // it could not be run
	StateNotRun = "not-run" // it was not started, or ended because another one did not pass
)

// Receipt is the evidence of one run of a plan, bound to one candidate.
type Receipt struct {
	ID          string          `json:"id"`
	Run         string          `json:"run,omitempty"`
	Visit       string          `json:"visit,omitempty"`
	Node        string          `json:"node,omitempty"`
	Attempt     int             `json:"attempt,omitempty"`
	Scope       string          `json:"scope"` // workflow.ReceiptFull or workflow.ReceiptScoped
	State       string          `json:"state"` // workflow.ReceiptPending, …
	Reason      string          `json:"reason,omitempty"`
	Candidate   string          `json:"candidate,omitempty"` // of the work trees before the first check
	After       string          `json:"after,omitempty"`     // after the last one
	Plan        workflow.Digest `json:"plan"`
	Environment Environment     `json:"environment,omitzero"`
	Setup       []Evidence      `json:"setup,omitempty"` // commands that prepared the checks
	Commands    []Evidence      `json:"commands"`
	Unverified  []string        `json:"unverified,omitempty"` // repositories that the receipt proves nothing about
	Started     workflow.Time   `json:"started"`
	Ended       workflow.Time   `json:"ended,omitzero"`
}

// Environment is what the commands of a receipt saw of their environment. The
// values themselves are not kept.
type Environment struct {
	Digest string   `json:"digest,omitempty"`
	Keys   []string `json:"keys,omitempty"` // sorted
}

// Evidence is what the host saw of one check.
type Evidence struct {
	ID           string        `json:"id"`    // receipt and place, such as "rc-…/2"
	Check        Check         `json:"check"` // without secrets
	State        string        `json:"state"`
	Reason       string        `json:"reason,omitempty"` // why it did not pass
	Argv         []string      `json:"argv,omitempty"`   // of a command
	Line         string        `json:"line,omitempty"`   // of a shell string
	Shell        string        `json:"shell,omitempty"`
	Pipefail     bool          `json:"pipefail,omitempty"`
	Dir          string        `json:"dir,omitempty"` // relative to the repository
	ExitCode     int           `json:"exitCode"`      // -1 without one
	Signal       string        `json:"signal,omitempty"`
	TimedOut     bool          `json:"timedOut,omitempty"`
	IdleOut      bool          `json:"idleOut,omitempty"`
	Absent       bool          `json:"absent,omitempty"` // the program is not there
	Suspect      string        `json:"suspect,omitempty"`
	StdoutBytes  int64         `json:"stdoutBytes"` // true sizes
	StderrBytes  int64         `json:"stderrBytes"`
	OutputDigest string        `json:"outputDigest,omitempty"` // of all that was written
	Output       string        `json:"output,omitempty"`       // the end of both streams, without secrets
	Anchors      string        `json:"anchors,omitempty"`      // lines of a failure that tell where and why
	Truncated    bool          `json:"truncated,omitempty"`    // Output is not all
	PipeHeld     bool          `json:"pipeHeld,omitempty"`     // something outlived the command and was ended
	EnvKeys      []string      `json:"envKeys,omitempty"`      // where they differ from those of the receipt
	EnvDigest    string        `json:"envDigest,omitempty"`
	Started      workflow.Time `json:"started,omitzero"`
	Ended        workflow.Time `json:"ended,omitzero"`
	DurationMs   int64         `json:"durationMs,omitempty"`
	Reused       bool          `json:"reused,omitempty"` // the result of an earlier run over the same inputs
}

// Failed reports whether the check was tried and did not pass.
func (e Evidence) Failed() bool { return e.State != StatePassed && e.State != StateNotRun }

// ReceiptID returns the id of a visit's receipt; ordinal counts the receipts of
// one attempt.
func ReceiptID(run, visit string, attempt, ordinal int) string {
	parts := []string{run, visit, strconv.Itoa(attempt), strconv.Itoa(ordinal)}
	return "rc-" + canon.Sum([]byte(strings.Join(parts, "\x00")))[:16]
}

// Kept is the receipt as the history keeps it. A receipt that leaves a repository
// out is kept as scoped.
func (r Receipt) Kept() workflow.EvidenceKept {
	scope := r.Scope
	if len(r.Unverified) > 0 {
		scope = workflow.ReceiptScoped
	}
	return workflow.EvidenceKept{
		Receipt: r.ID, State: r.State, Scope: scope, Candidate: r.Candidate, Commands: r.Passed(), Reason: r.Reason,
		Data: workflow.Inline(r.Canonical()),
	}
}

// Certifies reports whether the receipt proves its candidate.
func (r Receipt) Certifies() bool {
	kept := r.Kept()
	return kept.Certifies()
}

// Passed counts the checks that ran and passed. All kinds of checks count: what
// a definition names is what its author takes for a proof.
func (r Receipt) Passed() int {
	n := 0
	for _, e := range r.Commands {
		if e.State == StatePassed {
			n++
		}
	}
	return n
}

// Bad returns the first check that was tried and did not pass, of the setup
// first; nil when there is none.
func (r Receipt) Bad() *Evidence {
	for _, list := range [][]Evidence{r.Setup, r.Commands} {
		if i := slices.IndexFunc(list, Evidence.Failed); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// SetupFailed reports whether the receipt is invalid because of its setup.
func (r Receipt) SetupFailed() bool { return slices.ContainsFunc(r.Setup, Evidence.Failed) }

// Canonical is the receipt as canonical JSON.
func (r Receipt) Canonical() json.RawMessage {
	raw, err := json.Marshal(r)
	if err == nil {
		var form []byte
		if form, err = canon.Canonical(raw); err == nil {
			return form
		}
	}
	return workflow.Text("receipt " + r.ID + " cannot be written: " + err.Error()).JSON // not reached with plain data
}

// Digest names the content of the receipt.
func (r Receipt) Digest() workflow.Digest { return workflow.Digest(canon.Sum(r.Canonical())) }

// Parse reads a receipt out of the data of workflow.EvidenceKept.
func Parse(raw json.RawMessage) (Receipt, error) {
	var r Receipt
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("reading a receipt: %w", err)
	}
	return r, nil
}

// Judge settles State and Reason of a receipt whose checks have ended: it is
// valid when all of them ran and passed before the deadline, in one environment,
// over files that stayed the same. stopped says why the checks were stopped from
// outside, "" when they were not.
func (r *Receipt) Judge(stopped string) {
	r.State, r.Reason = workflow.ReceiptInvalid, ""
	switch bad := r.Bad(); {
	case bad != nil && r.SetupFailed():
		r.Reason = "setup " + bad.Check.Name() + ": " + bad.Reason
	case stopped != "":
		r.Reason = stopped
	case bad != nil:
		r.Reason = bad.Check.Name() + ": " + bad.Reason
	case r.Passed() < len(r.Commands):
		r.Reason = "not every check was run"
	case r.Candidate == "" || r.After == "":
		r.Reason = "the work tree could not be hashed"
	case r.Candidate != r.After:
		r.Reason = "the work tree changed while the checks ran"
	default:
		if r.Reason = r.drift(); r.Reason == "" {
			r.State = workflow.ReceiptValid
		}
	}
}

// drift compares the environment of the receipt with what each command without
// variables of its own saw.
func (r *Receipt) drift() string {
	for _, e := range r.Commands {
		if e.EnvDigest == "" || len(e.Check.Env) > 0 || e.Reused {
			continue
		}
		now := Environment{Digest: e.EnvDigest, Keys: e.EnvKeys}
		if now.Keys == nil {
			now.Keys = r.Environment.Keys
		}
		if what := Drift(r.Environment, now); what != "" {
			return "the environment changed while the checks ran: " + what
		}
	}
	return ""
}

// Drift says how an environment differs from an earlier one, by the names of its
// variables; "" when it does not.
func Drift(before, now Environment) string {
	if before.Digest == now.Digest {
		return ""
	}
	var parts []string
	for _, side := range []struct {
		word       string
		have, lack []string
	}{{"added", now.Keys, before.Keys}, {"removed", before.Keys, now.Keys}} {
		var names []string
		for _, k := range side.have {
			if !slices.Contains(side.lack, k) {
				names = append(names, k)
			}
		}
		if len(names) > 0 {
			parts = append(parts, side.word+" "+strings.Join(names, ", "))
		}
	}
	if len(parts) == 0 {
		return "a value changed"
	}
	return strings.Join(parts, "; ")
}
