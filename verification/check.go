package verification

import (
	"encoding/json"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// Limits of a plan.
const (
	MaxChecks      = 100
	DefaultTimeout = 900_000   // milliseconds of a check that names none
	MaxTimeout     = 7_200_000 // milliseconds
)

// Check is one thing that a plan looks at: a command, a shell string, or the
// state of the work tree. Exactly one of Command, CommandLine, File, JSON and
// Clean is set.
type Check struct {
	Key          string            `json:"key,omitempty"`
	Label        string            `json:"label,omitempty"`
	RepositoryID string            `json:"repositoryId,omitempty"` // of a command; "" is the only repository
	Command      string            `json:"command,omitempty"`
	Args         []string          `json:"args,omitempty"`
	CommandLine  string            `json:"commandLine,omitempty"`
	Cwd          string            `json:"cwd,omitempty"` // relative to the repository
	Env          map[string]string `json:"env,omitempty"`
	Stdin        string            `json:"stdin,omitempty"`     // of a command; in evidence its digest
	TimeoutMs    int64             `json:"timeoutMs,omitempty"` // 0 is DefaultTimeout
	Policy       json.RawMessage   `json:"policy,omitempty"`    // see ParsePolicy
	Proposed     bool              `json:"proposed,omitempty"`  // by a model: it proves nothing about its repository
	File         *FileCheck        `json:"file,omitempty"`
	JSON         *JSONCheck        `json:"json,omitempty"`
	Clean        *CleanCheck       `json:"clean,omitempty"`
}

// FileCheck asks for a file to be there, to be absent, or to have a content.
type FileCheck struct {
	Path         string `json:"path"` // relative to the repository, with slashes
	RepositoryID string `json:"repositoryId,omitempty"`
	Exists       bool   `json:"exists,omitempty"`
	Absent       bool   `json:"absent,omitempty"`
	SHA256       string `json:"sha256,omitempty"` // lower-case hex
}

// JSONCheck asks for a JSON file that fits a schema.
type JSONCheck struct {
	Path         string          `json:"path"`
	RepositoryID string          `json:"repositoryId,omitempty"`
	Schema       json.RawMessage `json:"schema"`
}

// CleanCheck asks for a work tree without changes that are not committed. Its
// JSON is true or {"repositoryId": …}.
type CleanCheck struct{ RepositoryID string }

type cleanObject struct {
	RepositoryID string `json:"repositoryId"`
}

// UnmarshalJSON reads either form.
func (c *CleanCheck) UnmarshalJSON(raw []byte) error {
	if string(raw) == "true" {
		return nil
	}
	var o cleanObject
	err := json.Unmarshal(raw, &o)
	c.RepositoryID = o.RepositoryID
	return err
}

// MarshalJSON writes what UnmarshalJSON reads.
func (c CleanCheck) MarshalJSON() ([]byte, error) {
	if c.RepositoryID == "" {
		return []byte("true"), nil
	}
	return json.Marshal(cleanObject(c))
}

// Commands returns the checks of a configured or published plan.
func Commands(plan []workflow.Check) []Check {
	checks := make([]Check, 0, len(plan))
	for _, c := range plan {
		checks = append(checks, Check{
			Key: c.Key, Label: c.Label, RepositoryID: c.RepositoryID, Command: c.Command, Args: c.Args,
			Cwd: c.Cwd, Env: c.Env, TimeoutMs: c.TimeoutMs, Policy: c.Policy,
		})
	}
	return checks
}

// Repository returns the id of the repository that the check is about; "" is the
// only one.
func (c Check) Repository() string {
	switch {
	case c.File != nil:
		return c.File.RepositoryID
	case c.JSON != nil:
		return c.JSON.RepositoryID
	case c.Clean != nil:
		return c.Clean.RepositoryID
	}
	return c.RepositoryID
}

// Name is the check as people read it: its label, else its Text.
func (c Check) Name() string {
	if c.Label != "" {
		return c.Label
	}
	return c.Text()
}

// Text is what the check does, without its label.
func (c Check) Text() string {
	switch {
	case c.File != nil:
		return "file " + c.File.Path
	case c.JSON != nil:
		return "json " + c.JSON.Path
	case c.Clean != nil:
		return "clean work tree"
	case c.CommandLine != "":
		return c.CommandLine
	}
	return strings.Join(append([]string{c.Command}, c.Args...), " ")
}

// Identity is the digest of what the check looks at and how, without its name
// and its limits.
func (c Check) Identity() (workflow.Digest, error) {
	c.Key, c.Label, c.TimeoutMs = "", "", 0
	d, err := canon.Digest(c)
	return workflow.Digest(d), err
}

// PlanDigest names a plan by the identities of its checks, in order.
func PlanDigest(checks []Check) (workflow.Digest, error) {
	ids := make([]workflow.Digest, 0, len(checks))
	for _, c := range checks {
		id, err := c.Identity()
		if err != nil {
			return "", err
		}
		ids = append(ids, id)
	}
	d, err := canon.Digest(ids)
	return workflow.Digest(d), err
}
