package tool

import "sync"

// Session is what the calls of one agent left behind. The zero value is a session
// in which nothing happened. It may be used by any number of goroutines. After a
// crash it is rebuilt by keeping the results of the journal again.
type Session struct {
	mu   sync.Mutex
	seen map[string]string
	cwd  string
}

// Keep folds a result into the session.
func (s *Session) Keep(r Result) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]string{}
	}
	for _, f := range r.Seen {
		s.seen[f.Path] = f.Digest
	}
	for _, c := range r.Changes {
		s.seen[c.Path] = c.After
	}
	if r.Cwd != "" {
		s.cwd = r.Cwd
	}
}

// Seen returns the digest that the file at a canonical path had when the agent
// last read or wrote it.
func (s *Session) Seen(canonical string) (digest string, ok bool) {
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	digest, ok = s.seen[canonical]
	return digest, ok
}

// Cwd returns the working directory that calls left, or "".
func (s *Session) Cwd() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cwd
}
