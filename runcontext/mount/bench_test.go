package mount_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenonrun/tenon/runcontext"
	"github.com/tenonrun/tenon/runcontext/mount"
)

// mounts and size are those of the benchmark: 1,000 files, 64 MiB.
const (
	mounts = 1000
	size   = 64 << 10
)

func benchEntries(b *testing.B) []runcontext.Entry {
	b.Helper()
	dir := b.TempDir()
	content := make([]byte, size)
	entries := make([]runcontext.Entry, mounts)
	for i := range entries {
		copy(content, fmt.Sprint(i))
		name := filepath.Join(dir, fmt.Sprintf("%04d.md", i))
		if err := os.WriteFile(name, content, 0o600); err != nil {
			b.Fatal(err)
		}
		entries[i] = runcontext.Entry{Path: fmt.Sprintf("references/kb/%04d.md", i), Slot: runcontext.SlotReferences, Mode: runcontext.ReadOnly, Origin: name}
	}
	return entries
}

// BenchmarkHash is what the others are measured by: the same bytes, read and hashed
// in one loop.
func BenchmarkHash(b *testing.B) {
	entries := benchEntries(b)
	b.SetBytes(mounts * size)
	for b.Loop() {
		for _, e := range entries {
			raw, err := os.ReadFile(e.Origin)
			if err != nil {
				b.Fatal(err)
			}
			sha256.Sum256(raw)
		}
	}
}

// BenchmarkHashMemory hashes the same number of bytes without reading them.
func BenchmarkHashMemory(b *testing.B) {
	raw := make([]byte, size)
	b.SetBytes(mounts * size)
	for b.Loop() {
		for range mounts {
			sha256.Sum256(raw)
		}
	}
}

// BenchmarkRender surveys, renders and hashes a context of all mounts.
func BenchmarkRender(b *testing.B) {
	entries := benchEntries(b)
	b.SetBytes(mounts * size)
	for b.Loop() {
		plan, err := mount.Survey(b.Context(), entries, mount.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := runcontext.Render(runcontext.Input{Plan: plan}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit makes the whole workspace, copies and all.
func BenchmarkCommit(b *testing.B) {
	entries := benchEntries(b)
	base := b.TempDir()
	b.SetBytes(mounts * size)
	for i := 0; b.Loop(); i++ {
		staging, err := mount.Stage(b.Context(), filepath.Join(base, fmt.Sprint(i)), entries, mount.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		r, err := runcontext.Render(runcontext.Input{Plan: staging.Plan()})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := staging.Commit(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	makeWritable(base)
}

// makeWritable lets a tree with read-only directories be removed.
func makeWritable(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
}
