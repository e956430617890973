package disk_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/artifact/disk"
)

// body returns a content of 100 KB that no other number has.
func body(i int) string {
	b := make([]byte, 100_000)
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	for at := 0; at+8 <= len(b); at += 8 {
		binary.LittleEndian.PutUint64(b[at:], rng.Uint64()&0x3f3f3f3f3f3f3f3f|0x4040404040404040)
	}
	return string(b)
}

// BenchmarkPut measures a put of 100 KB. The time without syncs is what a put
// costs beyond them.
func BenchmarkPut(b *testing.B) {
	for _, sync := range []bool{true, false} {
		b.Run(fmt.Sprint("sync=", sync), func(b *testing.B) {
			all := open(b, disk.Config{Dir: b.TempDir()})
			if !sync {
				all.NoSync()
			}
			c := collection(b, all, "c")
			var took []time.Duration
			bodies := make([]string, 64)
			for i := range bodies {
				bodies[i] = body(i)
			}
			i := 0
			for b.Loop() {
				content := fmt.Sprintf("%08d%s", i, bodies[i%64][8:])
				start := time.Now()
				put(b, c, "a", content)
				took = append(took, time.Since(start))
				i++
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
		})
	}
}

// BenchmarkMany measures a collection of 10,000 revisions of 100 KB in one
// artifact: how much is stored for a distinct byte, and the memory it takes.
func BenchmarkMany(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		all := open(b, disk.Config{Dir: dir})
		all.NoSync()
		c := collection(b, all, "c")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var took []time.Duration
		peak := uint64(0)
		for i := range n {
			content := body(i)
			start := time.Now()
			put(b, c, "a", content)
			took = append(took, time.Since(start))
			if i%100 == 0 {
				runtime.ReadMemStats(&after)
				peak = max(peak, after.HeapInuse)
			}
		}
		b.StartTimer()
		slices.Sort(took)
		b.ReportMetric(float64(took[n/2].Microseconds()), "µs-median-put")
		b.ReportMetric(float64(peak>>20), "MB-peak")
		b.ReportMetric(float64(diskBytes(b, dir))/(n*100_000), "stored/distinct")
	}
}

func diskBytes(t testing.TB, dir string) (size int64) {
	must(t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			must(t, err)
			size += info.Size()
		}
		return err
	}))
	return size
}

// offered is a log of n revisions, of one artifact or of n, whose contents are
// short.
func offered(device string, n int, one bool) iter.Seq2[artifact.Copy, error] {
	return func(yield func(artifact.Copy, error) bool) {
		for i := range n {
			content := fmt.Sprint(i % 10)
			r := artifact.Revision{
				ID: fmt.Sprint(device, "-", i), Seq: int64(i + 1), Device: device, Artifact: fmt.Sprint("a", i), Title: "A title",
				Mime: "text/plain", Version: 1, Digest: artifact.Digest(content), Bytes: 1, At: 1_790_000_000_000,
			}
			if one {
				r.Artifact, r.Version = "a", int64(i+1)
			}
			if !yield(artifact.Copy{Revision: r, Content: func(context.Context) (string, error) { return content, nil }}, nil) {
				return
			}
		}
	}
}

// BenchmarkList measures listing 10,000 artifacts: by a process that just started,
// and by one that has them in mind.
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	all := open(b, disk.Config{Dir: dir})
	if _, err := collection(b, all, "c").Merge(b.Context(), offered("A", 10_000, false)); err != nil {
		b.Fatal(err)
	}
	must(b, os.RemoveAll(filepath.Join(dir, ".blobs")))
	list := func(b *testing.B, all *disk.Collections) {
		if l, err := collection(b, all, "c").List(b.Context()); len(l) != 10_000 || err != nil {
			b.Fatal(len(l), err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			fresh, err := disk.Open(disk.Config{Dir: dir})
			must(b, err)
			list(b, fresh)
			must(b, fresh.Close())
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			list(b, all)
		}
	})
}

// BenchmarkMerge measures a merge of two logs of 10,000 lines each.
func BenchmarkMerge(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		all := open(b, disk.Config{Dir: b.TempDir()})
		mine, theirs := collection(b, all, "mine"), collection(b, all, "theirs")
		for c, device := range map[artifact.Collection]string{mine: "A", theirs: "B"} {
			if _, err := c.Merge(b.Context(), offered(device, 10_000, true)); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if m, err := mine.Merge(b.Context(), theirs.Export(b.Context())); m.Added != 10_000 || err != nil {
			b.Fatal(m, err)
		}
	}
}
