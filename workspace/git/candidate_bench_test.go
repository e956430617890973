package git_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonrun/tenon/workspace"
	"github.com/tenonrun/tenon/workspace/git"
)

// Run them with
//
//	go test -run '^$' -bench . -benchtime 10x ./workspace/git
//
// BenchmarkAgainstGit prints how long a digest takes in terms of git on the same
// tree. The number of files is 50,000, or BENCH_FILES.

var big = struct {
	once sync.Once
	work
}{}

// bigRepo is a committed repository of files of 1 to 20 KiB in a deep tree. It is
// made once and left to TestMain's directory.
func bigRepo(b *testing.B) work {
	big.once.Do(func() {
		files := 50_000
		if n, err := strconv.Atoi(os.Getenv("BENCH_FILES")); err == nil {
			files = n
		}
		w := work{b, filepath.Join(os.Getenv("HOME"), "big")}
		w.must(os.MkdirAll(w.dir, 0o755))
		w.git("init", "-q")
		random := rand.New(rand.NewPCG(1, 2))
		for i := range files {
			line := fmt.Sprintf("line of file %d\n", i)
			size := 1<<10 + random.IntN(19<<10)
			name := fmt.Sprintf("top%d/module%d/package%d/inner%d/file%d.go", i%10, i/10%25, i/250%10, i%2, i)
			w.write(name, strings.Repeat(line, size/len(line)+1))
		}
		w.commit()
		w.git("status", "--porcelain")
		big.work = w
	})
	return work{b, big.dir}
}

func bigCandidate(b *testing.B, cache string) *git.Candidate {
	b.Helper()
	k, err := git.New(git.Config{Repositories: []workspace.Repository{{ID: "repo", Path: bigRepo(b).dir}}, Cache: cache})
	if err != nil {
		b.Fatal(err)
	}
	return k
}

func timed(b *testing.B, work func() error) time.Duration {
	b.Helper()
	start := time.Now()
	if err := work(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2])
}

// against runs ours and theirs in turn and reports the ratio of the medians.
func against(b *testing.B, unit string, ours, theirs func() error) {
	var our, their []time.Duration
	for b.Loop() {
		our, their = append(our, timed(b, ours)), append(their, timed(b, theirs))
	}
	b.ReportMetric(median(our)/1e6, "ms")
	b.ReportMetric(median(their)/1e6, "git-ms")
	b.ReportMetric(median(our)/median(their), unit)
}

func BenchmarkAgainstGit(b *testing.B) {
	w := bigRepo(b)
	command := func(stdin []byte, args ...string) func() error {
		return func() error {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Stdin = w.dir, bytes.NewReader(stdin)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
			return cmd.Run()
		}
	}
	b.Run("no change", func(b *testing.B) {
		k := bigCandidate(b, b.TempDir())
		digest := func() error { _, err := k.Digest(b.Context()); return err }
		timed(b, digest)
		time.Sleep(2 * time.Second) // the files are older than the tick of a clock
		timed(b, digest)
		against(b, "x-status", digest, command(nil, "status", "--porcelain"))
	})
	b.Run("first", func(b *testing.B) {
		names := []byte(w.git("ls-files") + "\n")
		first := func() error { _, err := bigCandidate(b, b.TempDir()).Digest(b.Context()); return err }
		against(b, "x-hash-object", first, command(names, "hash-object", "--stdin-paths"))
	})
}

func BenchmarkDigest(b *testing.B) {
	for name, cache := range map[string]string{"without cache": "", "warm": b.TempDir()} {
		b.Run(name, func(b *testing.B) {
			k := bigCandidate(b, cache)
			for b.Loop() {
				if _, err := k.Digest(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
