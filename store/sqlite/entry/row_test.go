package entry_test

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenonrun/tenon/store"
	"github.com/tenonrun/tenon/store/sqlite/entry"
	"github.com/tenonrun/tenon/workflow"
)

const run = 300 // a number of two bytes

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// said makes the sealed records of n events after one, and the chain that they
// follow.
func said(t *testing.T, after int64, n int) ([]store.Record, store.Chain) {
	t.Helper()
	var events []workflow.Event
	for i := range int64(n) {
		events = append(events, workflow.Event{Seq: after + 1 + i, At: 1, Epoch: 2, ID: "v", Node: "n", Visit: 3, Attempt: 4, Invocation: 5,
			Payload: &workflow.Progress{Message: fmt.Sprint("event ", after+1+i)}})
	}
	records, err := store.Encode(events)
	must(t, err)
	chain := store.Chain{Run: "r", Seq: after, Sum: store.Origin("r")}
	store.SealAll(chain.Sum, records)
	return records, chain
}

func rowOf(records []store.Record) entry.Row {
	return entry.Row{ID: 1, Run: run, First: records[0].Event.Seq, N: int64(len(records)), Data: entry.Pack(nil, run, records)}
}

// TestRoundTrip: any records read back as they were packed, behind whatever the
// buffer held.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64()
		first := rapid.Int64Range(1, 1<<50).Draw(t, "first")
		want := make([]store.Record, rapid.IntRange(1, 20).Draw(t, "n"))
		for i := range want {
			r := &want[i]
			r.Event = workflow.Event{Seq: first + int64(i), At: workflow.Time(number.Draw(t, "at")), Epoch: number.Draw(t, "epoch"),
				ID: rapid.String().Draw(t, "id"), Node: rapid.String().Draw(t, "node"),
				Visit: rapid.Int().Draw(t, "visit"), Attempt: rapid.Int().Draw(t, "attempt"), Invocation: rapid.Int().Draw(t, "invocation")}
			r.Type = workflow.EventType(rapid.String().Draw(t, "type"))
			r.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "data")
			copy(r.Sum[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "sum"))
		}
		key := number.Draw(t, "run")
		data := entry.Pack([]byte("before"), key, want)[len("before"):]
		row := entry.Row{Run: key, First: first, N: int64(len(want)), Data: data}
		got, err := row.Records()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v reads back as %+v", want, got)
		}
		if !row.Claims(key, first) || row.Claims(key, first+1) || row.Claims(key+1, first) {
			t.Error("the row does not say what it is")
		}
		if row.Next() != first+int64(len(want)) {
			t.Errorf("the seq after the row is %d", row.Next())
		}
	})
}

// TestFormat holds the bytes of a row still: they are in the databases of users.
func TestFormat(t *testing.T) {
	t.Parallel()
	r := store.Record{Event: workflow.Event{Seq: 1, At: -1, Epoch: 64, ID: "id", Visit: 1, Attempt: 2, Invocation: 3}, Type: "t", Data: []byte("{}"), Sum: store.Sum{0: 0xaa, 15: 0xbb}}
	const want = "d80402" + "01" + "8001" + "02" + "04" + "06" + "0274" + "046964" + "00" + "047b7d" + "aa0000000000000000000000000000bb"
	if got := fmt.Sprintf("%x", entry.Pack(nil, run, []store.Record{r})); got != want {
		t.Errorf("a row is\n%s, want\n%s", got, want)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	of := func(sizes ...int) (out []store.Record) {
		for _, n := range sizes {
			out = append(out, store.Record{Data: make([]byte, n)})
		}
		return out
	}
	for name, test := range map[string]struct {
		records []store.Record
		want    int
	}{
		"none":      {nil, 0},
		"one":       {of(1), 1},
		"a big one": {of(10 * entry.MaxBytes), 1},
		"two big":   {of(entry.MaxBytes, 1), 1},
		"halves":    {of(entry.MaxBytes/2-80, entry.MaxBytes/2-80, 1), 2},
		"full":      {of(make([]int, entry.MaxEvents)...), entry.MaxEvents},
		"overfull":  {of(make([]int, entry.MaxEvents+1)...), entry.MaxEvents},
		"its texts": {[]store.Record{{}, {Type: workflow.EventType(strings.Repeat("x", entry.MaxBytes))}, {}}, 1},
	} {
		if got := entry.Fits(test.records); got != test.want {
			t.Errorf("%s: %d of %d go into one row, want %d", name, got, len(test.records), test.want)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		columns []driver.Value
		want    entry.Row
	}{
		"good":    {[]driver.Value{int64(1), int64(2), int64(3), int64(4), []byte("data")}, entry.Row{ID: 1, Run: 2, First: 3, N: 4, Data: []byte("data")}},
		"NULL":    {[]driver.Value{int64(1), nil, nil, nil, nil}, entry.Row{ID: 1}},
		"texts":   {[]driver.Value{int64(1), "2", "3", int64(4), "data"}, entry.Row{ID: 1, N: 4}},
		"numbers": {[]driver.Value{1.0, int64(2), 3.5, int64(4), int64(5)}, entry.Row{Run: 2, N: 4}},
	} {
		if got := entry.Of(test.columns); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: the row is %+v, want %+v", name, got, test.want)
		}
	}
}

// TestDamagedRows: damage is told, and what stands before it is read.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		harm func(*entry.Row)
		good int // events before the damage
	}{
		"run":       {func(r *entry.Row) { r.Run++ }, 0},
		"first":     {func(r *entry.Row) { r.First-- }, 0},
		"fewer":     {func(r *entry.Row) { r.N = 2 }, 2},
		"none":      {func(r *entry.Row) { r.N = 0 }, 0},
		"less":      {func(r *entry.Row) { r.N = -7 }, 0},
		"more":      {func(r *entry.Row) { r.N = 1 << 60 }, 3},
		"too many":  {func(r *entry.Row) { r.N = 1<<63 - 1 }, 0}, // the seq after it is no number
		"no data":   {func(r *entry.Row) { r.Data = nil }, 0},
		"cut":       {func(r *entry.Row) { r.Data = r.Data[:len(r.Data)-1] }, 2},
		"longer":    {func(r *entry.Row) { r.Data = append(r.Data, 0) }, 3},
		"a length":  {func(r *entry.Row) { r.Data[3+5] = 0x01 }, 0}, // that of the type is -1
		"no number": {func(r *entry.Row) { r.Data = append(r.Data[:3:3], bytes.Repeat([]byte{0xff}, 200)...) }, 0},
	} {
		records, _ := said(t, 1, 3)
		row := rowOf(records)
		test.harm(&row)
		got, err := row.Records()
		if err == nil || !strings.Contains(err.Error(), "a row of the log is damaged") {
			t.Errorf("%s: the error is %v", name, err)
		}
		if len(got) != test.good || test.good > 0 && !reflect.DeepEqual(got, records[:test.good]) {
			t.Errorf("%s: before the damage there are %+v", name, got)
		}
	}
}

// TestEvents reads a row along a chain, from any event to any other.
func TestEvents(t *testing.T) {
	t.Parallel()
	const after, n = 10, 5
	records, origin := said(t, after, n)
	row := rowOf(records)
	for from := range int64(n + 1) {
		for upTo := int64(after); upTo <= after+n+1; upTo++ {
			chain := origin
			if from > 0 {
				chain.Seq, chain.Sum = after+from, records[from-1].Sum
			}
			var got []string
			must(t, row.Events(&chain, upTo, func(e workflow.Event) error {
				got = append(got, e.Payload.(*workflow.Progress).Message)
				return nil
			}))
			var want []string
			for seq := after + from + 1; seq <= min(upTo, after+n); seq++ {
				want = append(want, fmt.Sprint("event ", seq))
			}
			if !slices.Equal(got, want) {
				t.Errorf("from event %d up to %d there are %v", after+from, upTo, got)
			}
		}
	}
}

// TestEventsOfDamage: what does not follow the chain is not yielded, and damage
// behind the last event that counts does not matter.
func TestEventsOfDamage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		harm func(*entry.Row)
		upTo int64
		good int
		bad  bool
	}{
		"a text":           {func(r *entry.Row) { r.Data = bytes.Replace(r.Data, []byte("event 2"), []byte("event 3"), 1) }, 3, 1, true},
		"a text behind":    {func(r *entry.Row) { r.Data = bytes.Replace(r.Data, []byte("event 3"), []byte("event 4"), 1) }, 2, 2, false},
		"the end":          {func(r *entry.Row) { r.Data = r.Data[:len(r.Data)-1] }, 3, 2, true},
		"the end behind":   {func(r *entry.Row) { r.Data = r.Data[:len(r.Data)-1] }, 2, 2, false},
		"more than counts": {func(r *entry.Row) { r.Data = append(r.Data, 0) }, 3, 3, false},
		"more than is":     {func(r *entry.Row) { r.Data = append(r.Data, 0) }, 4, 3, true},
		"another":          {func(r *entry.Row) { r.Run++ }, 3, 0, true},
	} {
		records, chain := said(t, 0, 3)
		row := rowOf(records)
		test.harm(&row)
		n := 0
		err := row.Events(&chain, test.upTo, func(workflow.Event) error { n++; return nil })
		var d *store.Damaged
		if bad := errors.As(err, &d); bad != test.bad || !bad && err != nil || n != test.good {
			t.Errorf("%s: %d events are yielded (%v)", name, n, err)
		}
		if test.bad && d != nil && d.LastGood != int64(test.good) {
			t.Errorf("%s: the last good event is %d", name, d.LastGood)
		}
	}
	records, chain := said(t, 0, 3)
	stop := errors.New("stop")
	if err := rowOf(records).Events(&chain, 3, func(workflow.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the error of who reads is %v", err)
	}
}

// FuzzRecords: no data makes the reading panic, or read more than there is.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{}, int64(1))
	f.Add([]byte{0xd8, 0x04, 0x02, 0x01}, int64(3))
	good := store.Record{Event: workflow.Event{Seq: 1, ID: "v"}, Type: "progress", Data: []byte("{}")}
	f.Add(entry.Pack(nil, run, []store.Record{good}), int64(1))
	f.Fuzz(func(t *testing.T, data []byte, n int64) {
		row := entry.Row{Run: run, First: 1, N: n, Data: data}
		records, err := row.Records()
		if err != nil && len(records) == 0 {
			return
		}
		if int64(len(records)) > max(n, 0) || err == nil && int64(len(records)) != max(n, 0) {
			t.Errorf("%d records are read of %d", len(records), n)
		}
		if !row.Claims(run, 1) {
			t.Error("another row's records are read")
		}
		if len(records) > 0 {
			again := entry.Row{Run: run, First: 1, N: int64(len(records)), Data: entry.Pack(nil, run, records)}
			if got, err := again.Records(); err != nil || !reflect.DeepEqual(got, records) {
				t.Errorf("packed again, %+v reads as %+v (%v)", records, got, err)
			}
		}
	})
}
