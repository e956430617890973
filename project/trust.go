package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenonrun/tenon/workflow"
)

// trustFile keeps the digests that a person has trusted in this project.
const trustFile = "trust.json"

type trusts struct {
	Version int               `json:"version"`
	Digests []workflow.Digest `json:"digests"`
}

// Digest returns the digest of the project's configuration file: what trust is
// about. It is "" when there is none.
func (p *Project) Digest() workflow.Digest { return p.digest }

// Trusted reports whether the configuration of the project, as it is now, was
// trusted by a person: recorded, or told with TENON_TRUST or --trust-project. A
// project without a configuration asks for nothing and is trusted.
func (p *Project) Trusted() (bool, error) {
	if p.digest == "" || p.opts.TrustProject || p.opts.Getenv("TENON_TRUST") == string(p.digest) {
		return true, nil
	}
	t, err := p.readTrust()
	if err != nil {
		return false, err
	}
	return slices.Contains(t.Digests, p.digest), nil
}

// Trust records that the configuration of the project, as it was read, is
// trusted. It holds from the next Open on.
func (p *Project) Trust() error {
	if p.digest == "" {
		return nil
	}
	t, err := p.readTrust()
	if err != nil || slices.Contains(t.Digests, p.digest) {
		return err
	}
	t.Version, t.Digests = 1, append(t.Digests, p.digest)
	return p.writeTrust(t)
}

// Distrust forgets every trust in the project.
func (p *Project) Distrust() error {
	err := os.Remove(filepath.Join(p.Home, trustFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (p *Project) readTrust() (trusts, error) {
	var t trusts
	raw, err := os.ReadFile(filepath.Join(p.Home, trustFile))
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, workflow.Errorf(workflow.CodeStoreUnavailable, "reading trust: %w", err).
			WithHint("make the state directory readable and writable for this user, or choose another with --state DIR or TENON_STATE")
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("reading trust in %s: %w", filepath.Join(p.Home, trustFile), err)
	}
	return t, nil
}

func (p *Project) writeTrust(t trusts) error {
	raw, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("writing trust: %w", err)
	}
	if err := os.MkdirAll(p.Home, 0o700); err != nil {
		return fmt.Errorf("writing trust: %w", err)
	}
	f, err := os.CreateTemp(p.Home, trustFile+".*")
	if err != nil {
		return fmt.Errorf("writing trust: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // nothing is left of it after the rename
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing trust: %w", err)
	}
	return os.Rename(f.Name(), filepath.Join(p.Home, trustFile))
}
