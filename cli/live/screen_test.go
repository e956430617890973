package live_test

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// screen is a small terminal: it knows what the view may write, and reports
// everything else. It wraps old lines again when it gets narrower.
type screen struct {
	mu         sync.Mutex
	cols, rows int
	lines      []line // all, the oldest first; the last rows of them are visible
	x, y       int    // y counts from the first line of all
	rest       string // an unfinished sequence
	changed    chan struct{}
	bad        []string
}

// line is a row of cells; wrapped says that it goes on in the next one.
type line struct {
	text    []rune
	wrapped bool
}

func newScreen(cols, rows int) *screen {
	return &screen{cols: cols, rows: rows, lines: make([]line, 1), changed: make(chan struct{}, 1)}
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.rest + string(b)
	s.rest = ""
	for in != "" {
		n := s.step(in)
		if n == 0 {
			s.rest = in
			break
		}
		in = in[n:]
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

// step takes one character or sequence; 0 is not all there yet.
func (s *screen) step(in string) int {
	switch in[0] {
	case '\r':
		s.x = 0
		return 1
	case '\n':
		s.y++
		s.grow()
		return 1
	case '\x1b':
		return s.sequence(in)
	}
	if !utf8.FullRuneInString(in) {
		return 0
	}
	r, n := utf8.DecodeRuneInString(in)
	if r < ' ' || r == utf8.RuneError {
		s.bad = append(s.bad, fmt.Sprintf("%q", in[:n]))
	}
	s.put(r)
	return n
}

func (s *screen) sequence(in string) int {
	end := strings.IndexFunc(in[1:], func(r rune) bool { return r >= '@' && r <= '~' && r != '[' })
	if end < 0 {
		return 0
	}
	seq := in[1 : end+2]
	var n int
	switch {
	case seq == "[?2026h", seq == "[?2026l", strings.HasSuffix(seq, "m"):
	case seq == "[K":
		s.lines[s.y].text = s.lines[s.y].text[:min(s.x, len(s.lines[s.y].text))]
		s.lines[s.y].wrapped = false
	case seq == "[J":
		s.lines[s.y].text = s.lines[s.y].text[:min(s.x, len(s.lines[s.y].text))]
		for i := s.y + 1; i < len(s.lines); i++ {
			s.lines[i] = line{}
		}
	case strings.HasSuffix(seq, "A"):
		if _, err := fmt.Sscanf(seq, "[%dA", &n); err != nil {
			s.bad = append(s.bad, seq)
		}
		s.y = max(s.y-n, s.top())
	default:
		s.bad = append(s.bad, seq)
	}
	return end + 2
}

func (s *screen) top() int { return max(0, len(s.lines)-s.rows) }

func (s *screen) grow() {
	for s.y >= len(s.lines) {
		s.lines = append(s.lines, line{})
	}
}

func (s *screen) put(r rune) {
	w := ansi.StringWidthWc(string(r))
	if s.x+w > s.cols {
		s.lines[s.y].wrapped = true
		s.x = 0
		s.y++
		s.grow()
	}
	l := &s.lines[s.y]
	for len(l.text) < s.x+w {
		l.text = append(l.text, ' ')
	}
	l.text[s.x] = r
	for i := 1; i < w; i++ {
		l.text[s.x+i] = 0
	}
	s.x += w
}

// resize gives the terminal another size; what is too long is wrapped again.
func (s *screen) resize(cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []line
	y := 0
	for i, l := range s.lines {
		if i == s.y {
			y = len(out)
		}
		for len(l.text) > cols {
			out = append(out, line{text: l.text[:cols:cols], wrapped: true})
			l.text = l.text[cols:]
		}
		out = append(out, l)
	}
	s.cols, s.rows, s.lines, s.y, s.x = cols, rows, out, y, min(s.x, cols)
	for len(s.lines) > s.y+1 && len(s.lines) > rows && len(s.lines[len(s.lines)-1].text) == 0 {
		s.lines = s.lines[:len(s.lines)-1]
	}
}

// text is everything, scrollback included, without what is empty at the end.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(strings.TrimRight(strings.ReplaceAll(string(l.text), "\x00", ""), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (s *screen) size() (cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cols, s.rows
}
