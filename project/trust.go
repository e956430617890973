package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/workflow"
)

// trustFile keeps the digests that a person has trusted in this project.
const trustFile = "trust.json"

type trusts struct {
	Version int               `json:"version"`
	Digests []workflow.Digest `json:"digests"`
}

// Trusting is a file of the repository that widens rights or starts commands
// once a person trusts its content.
type Trusting struct {
	Path    string          `json:"path"`
	Digest  workflow.Digest `json:"digest"`
	Trusted bool            `json:"trusted"`
}

// Digest returns the digest of the project's configuration file. It is "" when
// there is none.
func (p *Project) Digest() workflow.Digest { return p.digest }

// Trusted reports whether the configuration of the project, as it is now, was
// trusted by a person. A project without a configuration asks for nothing and is
// trusted.
func (p *Project) Trusted() (bool, error) {
	if p.digest == "" {
		return true, nil
	}
	return p.trusts(p.digest)
}

// Trusts reports whether a person trusted a file of the repository with this
// content.
func (p *Project) Trusts(content []byte) (bool, error) {
	return p.trusts(workflow.Digest(canon.Sum(content)))
}

// trusts reports whether a digest is trusted: recorded, or told with TENON_TRUST
// or --trust-project.
func (p *Project) trusts(d workflow.Digest) (bool, error) {
	if p.opts.TrustProject || slices.Contains(strings.Split(p.opts.Getenv("TENON_TRUST"), ","), string(d)) {
		return true, nil
	}
	t, err := p.readTrust()
	if err != nil {
		return false, err
	}
	return slices.Contains(t.Digests, d), nil
}

// TrustFiles lists the files that trust is about and that are there: the
// configuration, the rules that Claude Code keeps, and the scripts of scripted
// providers.
func (p *Project) TrustFiles() ([]Trusting, error) {
	paths := []string{filepath.Join(p.Root, Folder, "config.yaml")}
	paths = append(paths, p.claudeSettings()...)
	providers := p.Providers()
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if file := providers[name].File; file != "" && within(p.Path(file), p.Root) {
			paths = append(paths, p.Path(file))
		}
	}
	var list []Trusting
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if slices.Contains(paths[:i], path) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading what is to be trusted: %w", err)
		}
		trusted, err := p.Trusts(data)
		if err != nil {
			return nil, err
		}
		list = append(list, Trusting{Path: path, Digest: workflow.Digest(canon.Sum(data)), Trusted: trusted})
	}
	return list, nil
}

// Trust records that the files of TrustFiles are trusted as they are now. For the
// configuration it holds from the next Open on.
func (p *Project) Trust() error {
	list, err := p.TrustFiles()
	if err != nil {
		return err
	}
	t, err := p.readTrust()
	if err != nil {
		return err
	}
	n := len(t.Digests)
	for _, f := range list {
		if !slices.Contains(t.Digests, f.Digest) {
			t.Digests = append(t.Digests, f.Digest)
		}
	}
	if len(t.Digests) == n {
		return nil
	}
	t.Version = 1
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
