package composition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tenonrun/tenon/composition/version"
	"github.com/tenonrun/tenon/internal/canon"
	"github.com/tenonrun/tenon/internal/source"
	"github.com/tenonrun/tenon/workflow"
)

// LockFile is the name of the lock of a project, in its directory .tenon.
const LockFile = "tenon.lock"

// Pin says what a reference stands for.
type Pin struct {
	Kind    Kind   `json:"kind"`
	Ref     string `json:"ref"` // as written, the latest version left out
	Version string `json:"version"`
	Tier    Tier   `json:"tier"`
	Digest  string `json:"digest"` // of the content, 64 hex digits
}

// Lock keeps what references stand for. The zero value is empty.
type Lock struct {
	pins []Pin // by kind and ref
}

// Pins returns the pins, by kind and reference.
func (l *Lock) Pins() []Pin { return slices.Clone(l.pins) }

// Pin returns the pin of a reference.
func (l *Lock) Pin(kind Kind, ref Ref) (Pin, bool) {
	i, ok := slices.BinarySearchFunc(l.pins, Pin{Kind: kind, Ref: ref.String()}, comparePins)
	if !ok {
		return Pin{}, false
	}
	return l.pins[i], true
}

func comparePins(a, b Pin) int {
	if c := strings.Compare(string(a.Kind), string(b.Kind)); c != 0 {
		return c
	}
	return strings.Compare(a.Ref, b.Ref)
}

// put adds or replaces a pin.
func (l *Lock) put(p Pin) {
	i, ok := slices.BinarySearchFunc(l.pins, p, comparePins)
	if ok {
		l.pins[i] = p
		return
	}
	l.pins = slices.Insert(l.pins, i, p)
}

// Merge returns a lock with the pins of both; those of newer win.
func (l *Lock) Merge(newer *Lock) *Lock {
	out := &Lock{pins: l.Pins()}
	for _, p := range newer.pins {
		out.put(p)
	}
	return out
}

// lockDocument is the lock as it is written.
type lockDocument struct {
	Version int   `json:"lockVersion"`
	Pins    []Pin `json:"pins"`
}

// MarshalJSON gives the lock as one canonical object.
func (l *Lock) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(lockDocument{1, append([]Pin{}, l.pins...)})
	if err != nil {
		return nil, err
	}
	return canon.Canonical(raw)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Lock) UnmarshalJSON(raw []byte) error {
	read, err := ParseLock(LockFile, raw)
	if err == nil {
		*l = *read
	}
	return err
}

// Bytes gives the lock as the file holds it: one pin a line, in order, so that it
// merges well. The same pins give the same bytes.
func (l *Lock) Bytes() []byte {
	var b bytes.Buffer
	b.WriteString("{\"lockVersion\": 1, \"pins\": [")
	for i, p := range l.pins {
		if i > 0 {
			b.WriteByte(',')
		}
		line, err := canon.Canonical(mustJSON(p))
		if err != nil {
			continue // not reached: names in a pin are plain
		}
		b.WriteString("\n  ")
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

// ParseLock reads a lock from the file called name. The error is a *workflow.Error.
func ParseLock(name string, data []byte) (*Lock, error) {
	doc, err := source.Parse(name+".json", data, source.Limits{MaxBytes: 32 << 20})
	if err != nil {
		return nil, badLock(name, "%v", err)
	}
	var d lockDocument
	if err := doc.Decode(&d); err != nil {
		return nil, badLock(name, "%v", err)
	}
	if d.Version != 1 {
		return nil, badLock(name, "it has the version %d, and this program reads version 1", d.Version)
	}
	l := &Lock{}
	for i, p := range d.Pins {
		ref, err := ParseRef(p.Kind, p.Ref)
		if err != nil {
			return nil, badLock(name, "pin %d: %v", i+1, err)
		}
		if _, err := version.Parse(p.Version); err != nil {
			return nil, badLock(name, "pin %d: %v", i+1, err)
		}
		if !slices.Contains(Kinds(), p.Kind) || !slices.Contains(Tiers(), p.Tier) || len(p.Digest) != 64 {
			return nil, badLock(name, "pin %d of %s has no kind, tier or digest that can be", i+1, p.Ref)
		}
		if _, twice := l.Pin(p.Kind, ref); twice {
			return nil, badLock(name, "the %s %s is pinned twice", p.Kind, p.Ref)
		}
		l.put(p)
	}
	return l, nil
}

func badLock(name, format string, args ...any) error {
	return workflow.Errorf(workflow.CodeLockMismatch, "the lock %s cannot be used: %s", name, fmt.Sprintf(format, args...)).
		WithHint("write it anew with tenon composition resolve")
}

// pinned finds what a pin stands for, whether or not it is archived by now.
func (c *Catalog) pinned(kind Kind, ref Ref, p Pin, o Options) (*Item, *fault) {
	mismatch := func(format string, args ...any) (*Item, *fault) {
		return nil, &fault{code: FindingLock, message: fmt.Sprintf(format, args...), hint: "take what is there now into the lock with --update-lock"}
	}
	var found, now *Item
	for _, it := range c.named[naming{kind, ref.Name()}] {
		if it.Tier != p.Tier || it.Lifecycle == Draft && !o.Draft || it.Tier == TierUser && o.Shared {
			continue
		}
		if !it.Stored && now == nil {
			now = it
		}
		if it.Digest == p.Digest && it.Version == p.Version && found == nil {
			found = it
		}
	}
	edited := now != nil && strings.HasPrefix(p.Version, "0.0.0+") && now.Digest != p.Digest
	switch {
	case edited:
		return mismatch("the lock has the %s %s at %s, and %s has changed since", kind, ref, p.Version, now.Source)
	case found == nil && now != nil && now.Version == p.Version:
		return mismatch("the lock has the %s %s@%s with other content than %s", kind, ref.Name(), p.Version, now.Source)
	case found == nil:
		return mismatch("the lock has the %s %s at version %s of the tier %s, which is not there", kind, ref, p.Version, p.Tier)
	case found.Err != nil:
		return nil, broken(found)
	}
	return found, nil
}
