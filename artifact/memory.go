package artifact

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/tenonrun/tenon/workflow"
)

// MemoryConfig sets up collections in memory.
type MemoryConfig struct {
	Limits Limits
	// Now returns milliseconds since 1970; nil counts 1, 2, 3….
	Now func() int64
	// NewID returns the id of a revision; nil counts.
	NewID func() string
	// Device is where they are; "" is "memory".
	Device string
	// OnRevision is told each revision that is put or edited, and its content,
	// once and in order; nil does not listen. It must not call the store.
	OnRevision func(Revision, string)
}

// Memory is collections that last as long as the process.
type Memory struct {
	cfg   MemoryConfig
	mu    sync.Mutex
	named map[string]*memory
	ticks int64
}

// NewMemory returns collections in memory.
func NewMemory(cfg MemoryConfig) *Memory {
	if cfg.Device == "" {
		cfg.Device = "memory"
	}
	return &Memory{cfg: cfg, named: map[string]*memory{}}
}

var _ Collections = (*Memory)(nil)

// Open returns a collection.
func (m *Memory) Open(ctx context.Context, name string) (Collection, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.named[name]
	if s == nil {
		s = &memory{all: m, bodies: map[string]string{}}
		m.named[name] = s
	}
	return s, ctx.Err()
}

// Names returns the names of the collections that hold something.
func (m *Memory) Names(ctx context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.named)) {
		s := m.named[name]
		s.mu.Lock()
		if len(s.log.known) > 0 {
			names = append(names, name)
		}
		s.mu.Unlock()
	}
	return names, ctx.Err()
}

// stamp returns the stamp of the next revision.
func (m *Memory) stamp() Stamp {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ticks++
	s := Stamp{ID: fmt.Sprintf("%s-%d", m.cfg.Device, m.ticks), Device: m.cfg.Device, At: m.ticks}
	if m.cfg.NewID != nil {
		s.ID = m.cfg.NewID()
	}
	if m.cfg.Now != nil {
		s.At = m.cfg.Now()
	}
	return s
}

// memory is one collection.
type memory struct {
	all    *Memory
	mu     sync.Mutex // held before that of all
	log    Log
	bodies map[string]string // by digest
}

// Put keeps a draft as the next revision.
func (s *memory) Put(ctx context.Context, d Draft) (Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := d.check(s.all.cfg.Limits); err != nil {
		return Receipt{}, err // takes no time
	}
	if told, ok := s.log.Again(&d); ok {
		return told, ctx.Err()
	}
	r, err := s.log.PlanPut(d, s.all.stamp(), s.all.cfg.Limits)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Receipt{}, err
	}
	receipt := s.log.Receipt(&r)
	receipt.Descriptor, err = s.keep(r, d.Content)
	return receipt, err
}

// Edit keeps a person's text as the next revision.
func (s *memory) Edit(ctx context.Context, e Edit) (Descriptor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.log.PlanEdit(e, Stamp{}, s.all.cfg.Limits); err != nil {
		return Descriptor{}, err // takes no time
	}
	r, err := s.log.PlanEdit(e, s.all.stamp(), s.all.cfg.Limits)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Descriptor{}, err
	}
	return s.keep(r, e.Content)
}

func (s *memory) keep(r Revision, content string) (Descriptor, error) {
	if _, err := s.log.Add(r); err != nil {
		return Descriptor{}, err
	}
	s.bodies[r.Digest] = content
	if s.all.cfg.OnRevision != nil {
		s.all.cfg.OnRevision(r, content)
	}
	d, _ := s.log.Describe(r.Artifact)
	return d, nil
}

// List returns all artifacts.
func (s *memory) List(ctx context.Context) ([]Descriptor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.List(), ctx.Err()
}

// Get returns an artifact with all its versions.
func (s *memory) Get(ctx context.Context, id string) (Artifact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Artifact{}, err
	}
	return s.log.Get(id)
}

// Read returns a version and its content.
func (s *memory) Read(ctx context.Context, id string, version int64) (Revision, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.log.Find(id, version)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Revision{}, "", err
	}
	return r, s.bodies[r.Digest], nil
}

// Delete forgets an artifact.
func (s *memory) Delete(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.log.PlanDelete(id, s.all.stamp())
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		_, err = s.log.Add(r)
	}
	return err
}

// Publish notes what was sent where.
func (s *memory) Publish(ctx context.Context, id string, p *Publication) (Descriptor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Descriptor{}, err
	}
	return s.log.Publish(id, p)
}

// Export returns the revisions and deletions in the order of the log.
func (s *memory) Export(ctx context.Context) iter.Seq2[Copy, error] {
	s.mu.Lock()
	list := s.log.Revisions()
	s.mu.Unlock()
	return func(yield func(Copy, error) bool) {
		for _, r := range list {
			if err := ctx.Err(); err != nil {
				yield(Copy{}, err)
				return
			}
			if !yield(Copy{Revision: r, Content: func(context.Context) (string, error) { return s.body(&r) }}, nil) {
				return
			}
		}
	}
}

func (s *memory) body(r *Revision) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.bodies[r.Digest]
	if !ok {
		return "", workflow.Errorf(workflow.CodeNotFound, "the content of %s version %d is not there", r.Artifact, r.Version)
	}
	return b, nil
}

// Merge takes revisions as they happened.
func (s *memory) Merge(ctx context.Context, copies iter.Seq2[Copy, error]) (Merged, error) {
	var m Merged
	for c, err := range copies {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return m, fmt.Errorf("merging artifacts: %w", err)
		}
		if err := s.take(ctx, &c, &m); err != nil {
			return m, fmt.Errorf("merging artifacts: %w", err)
		}
	}
	return m, nil
}

func (s *memory) take(ctx context.Context, c *Copy, m *Merged) error {
	s.mu.Lock()
	_, held := s.bodies[c.Digest]
	held = held || c.Deleted || s.log.Seen(&c.Revision)
	s.mu.Unlock()
	var body string
	if !held {
		var err error
		if body, err = c.Content(ctx); err != nil {
			return err
		}
		if err := c.Verify(body, s.all.cfg.Limits); err != nil {
			m.Note(&c.Revision, Added, err)
			return nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fate, err := s.log.Add(c.Revision)
	m.Note(&c.Revision, fate, err)
	if !held && err == nil && fate == Added {
		s.bodies[c.Digest] = body
	}
	return nil
}
