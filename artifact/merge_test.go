package artifact_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tenonrun/tenon/artifact"
)

// device is one of several that write into one collection.
type device struct {
	name  string
	log   artifact.Log
	wrote int
}

func (d *device) add(t *testing.T, r artifact.Revision) {
	t.Helper()
	if _, err := d.log.Add(r); err != nil {
		t.Fatal(err)
	}
}

// act does one thing, often one that cannot be done.
func (d *device) act(t *testing.T, rng *rand.Rand, at int64) {
	t.Helper()
	d.wrote++
	s := artifact.Stamp{ID: fmt.Sprintf("%s-%d", d.name, d.wrote), Device: d.name, At: at}
	id := string(rune('a' + rng.IntN(3)))
	content := fmt.Sprint(rng.IntN(5))
	var r artifact.Revision
	var err error
	switch rng.IntN(10) {
	case 0:
		r, err = d.log.PlanDelete(id, s)
	case 1, 2, 3:
		r, err = d.log.PlanEdit(artifact.Edit{Artifact: id, Content: content}, s, artifact.Limits{})
	default:
		r, err = d.log.PlanPut(artifact.Draft{ID: id, Title: "T" + content, Mime: "text/plain", Content: content}, s, artifact.Limits{})
	}
	if err == nil {
		d.add(t, r)
	}
}

// render is everything a log shows and sends.
func render(t *testing.T, l *artifact.Log) []byte {
	t.Helper()
	var out []byte
	for _, r := range l.Revisions() {
		line := artifact.Line{Revision: r, Content: "of " + r.Digest}
		var err error
		if out, err = line.Append(out); err != nil {
			t.Fatal(err)
		}
	}
	seq, err := l.NextSeq()
	out = fmt.Appendf(out, "%d %v %+v", seq, err, l.List())
	for _, d := range l.List() {
		a, err := l.Get(d.ID)
		out = fmt.Appendf(out, "%+v %v", a, err)
	}
	return out
}

// TestMerge: devices that write at random and merge now and then end with the same
// bytes, in whatever order and however often their revisions arrive.
func TestMerge(t *testing.T) {
	t.Parallel()
	buried := 0
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 7))
		devices := []*device{{name: "A"}, {name: "B"}, {name: "C"}}[:2+rng.IntN(2)]
		for at := range int64(40) {
			d := devices[rng.IntN(len(devices))]
			if d.act(t, rng, at); rng.IntN(6) == 0 {
				for _, r := range devices[rng.IntN(len(devices))].log.Revisions() {
					d.add(t, r)
				}
			}
		}
		var all []artifact.Revision
		for _, d := range devices {
			all = append(all, d.log.Revisions()...)
		}
		var want []byte
		for i := range 6 {
			d := &device{}
			if i < len(devices) {
				d = devices[i] // one that has some of it already
			}
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for _, r := range slices.Concat(all, all[:rng.IntN(len(all)+1)]) {
				d.add(t, r)
			}
			got := render(t, &d.log)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("seed %d: log %d differs:\n%s\n\n%s", seed, i, got, want)
			}
		}
		if bytes.Contains(want, []byte(`"deleted":true`)) {
			buried++
		}
	}
	if buried < 50 {
		t.Errorf("only %d of the cases delete something", buried)
	}
}

// TestClash: of two texts under one id of a revision the first one stays, and the
// other one is told.
func TestClash(t *testing.T) {
	t.Parallel()
	var l artifact.Log
	first := artifact.Revision{ID: "r1", Seq: 1, Device: "A", Artifact: "a", Mime: "text/plain", Version: 1, Digest: artifact.Digest("m"), Bytes: 1}
	second := first
	second.Digest = artifact.Digest("n")
	for i, want := range []struct {
		r    artifact.Revision
		fate artifact.Fate
	}{{first, artifact.Added}, {second, artifact.Clash}, {first, artifact.Known}} {
		if fate, err := l.Add(want.r); fate != want.fate || err != nil {
			t.Errorf("%d: the fate is %v (%v), not %v", i, fate, err, want.fate)
		}
	}
	if r, err := l.Find("a", 1); err != nil || r != first {
		t.Errorf("the first one is %+v (%v) now", r, err)
	}
}

// TestDeleted: a deletion wins over what came before it, whoever sees it first, and
// loses against what came after it; numbers go on.
func TestDeleted(t *testing.T) {
	t.Parallel()
	rev := func(id string, seq, version int64) artifact.Revision {
		return artifact.Revision{ID: id, Seq: seq, Device: "A", Artifact: "a", Mime: "text/plain", Version: version, Digest: artifact.Digest(id), Bytes: 1}
	}
	grave := artifact.Revision{ID: "g", Seq: 3, Device: "A", Artifact: "a", Version: 2, Deleted: true}
	all := []artifact.Revision{rev("r1", 1, 1), rev("r2", 2, 2), grave}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		var l artifact.Log
		for _, i := range order {
			if _, err := l.Add(all[i]); err != nil {
				t.Fatal(err)
			}
		}
		if l.Len() != 0 || len(l.List()) != 0 {
			t.Errorf("%v: it is still there: %+v", order, l.List())
		}
		r, err := l.PlanPut(artifact.Draft{ID: "a", Content: "x"}, artifact.Stamp{ID: "n"}, artifact.Limits{})
		if err != nil || r.Version != 3 || r.Seq != 4 {
			t.Errorf("%v: the next one is %+v (%v)", order, r, err)
		}
		if fate, err := l.Add(rev("r9", 9, 1)); fate != artifact.Added || err != nil || l.Len() != 1 {
			t.Errorf("%v: what comes later is not there: %v %v", order, fate, err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	logs := make([][]artifact.Revision, 2)
	for d := range logs {
		for i := range 10_000 {
			logs[d] = append(logs[d], artifact.Revision{
				ID: fmt.Sprintf("%d-%d", d, i), Seq: int64(i + 1), Device: fmt.Sprint(d), Artifact: "a",
				Title: "Title", Mime: "text/plain", Version: int64(i + 1), Digest: artifact.Digest(fmt.Sprint(i)), Bytes: 100_000, At: int64(i),
			})
		}
		slices.Reverse(logs[d])
	}
	for b.Loop() {
		var l artifact.Log
		for _, log := range logs {
			for _, r := range log {
				if _, err := l.Add(r); err != nil {
					b.Fatal(err)
				}
			}
		}
		if n := len(l.Revisions()); n != 20_000 {
			b.Fatal(n)
		}
	}
}
