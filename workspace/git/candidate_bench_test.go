package git_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
)

// BenchmarkDigest reads 5,000 tracked files of about 4 KiB in 250 directories.
func BenchmarkDigest(b *testing.B) {
	w := repo(b)
	for i := range 5000 {
		name := fmt.Sprintf("pkg%d/sub%d/file%d.go", i%25, i%250, i)
		w.write(name, strings.Repeat(fmt.Sprintf("line of file %d\n", i), 256))
	}
	w.commit()
	k, err := git.New(git.Config{Repositories: []workspace.Repository{{ID: "repo", Path: w.dir}}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := k.Digest(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
