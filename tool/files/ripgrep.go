package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tenonrun/tenon/tool"
)

// Bounds of the help of ripgrep: files from which on it pays, and bytes of the
// arguments of one process.
const (
	minRipgrep  = 64
	maxArgBytes = 96 << 10
	maxWait     = time.Minute // of one process
)

// newSearcher makes the grep tool. A program that does not say that it is ripgrep
// is not used.
func newSearcher(program string) searcher {
	return searcher{ripgrep: program, usable: sync.OnceValue(func() bool {
		if program == "" {
			return false
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, program, "--no-config", "--version").Output()
		return err == nil && bytes.HasPrefix(out, []byte("ripgrep "))
	})}
}

// candidates tells, of files that were judged, which may have a match; nil for
// all. Ripgrep answers with names only: each file is opened through the fence and
// matched here, so that the result is the same without it.
func (s searcher) candidates(ctx context.Context, n needle, list []tool.Entry) []bool {
	if len(n.any) == 0 || len(list) < minRipgrep || !s.usable() {
		return nil
	}
	index := make(map[string]int, len(list))
	may := make([]bool, len(list))
	var batch []string
	length := 0
	for i, e := range list {
		name := e.Place.Canonical
		index[name] = i
		if may[i] = e.Info.Size > maxScan; !may[i] {
			batch = append(batch, name)
			length += len(name) + 1
		}
		if length < maxArgBytes && i < len(list)-1 || len(batch) == 0 {
			continue
		}
		hits, ok := s.batch(ctx, n, batch)
		if !ok {
			hits = batch
		}
		for _, name := range hits {
			if at, known := index[name]; known {
				may[at] = true
			}
		}
		batch, length = nil, 0
	}
	return may
}

// utf16Text is an expression for text in UTF-16, whatever the file begins with: which
// encoding it has is decided here and not by ripgrep.
func utf16Text(text string, fold, big bool) string {
	var b strings.Builder
	unit := func(high, low byte) {
		if !big {
			high, low = low, high
		}
		fmt.Fprintf(&b, `\x%02x\x%02x`, high, low)
	}
	b.WriteString("(?-u:")
	for i := range len(text) {
		b.WriteString("(?:")
		unit(0, text[i])
		switch c := text[i] | 0x20; {
		case fold && c == 'k': // the sign of Kelvin
			b.WriteByte('|')
			unit(0x21, 0x2a)
		case fold && c == 's': // the long s
			b.WriteByte('|')
			unit(0x01, 0x7f)
		}
		b.WriteByte(')')
	}
	b.WriteByte(')')
	return b.String()
}

// batch runs ripgrep over some files. It is not ok when it had any trouble.
func (s searcher) batch(ctx context.Context, n needle, names []string) (hits []string, ok bool) {
	args := []string{"--no-config", "--no-messages", "--text", "--encoding=none", "--files-with-matches", "--null", "--color=never"}
	if n.fold {
		args = append(args, "--ignore-case")
	}
	for _, one := range n.any {
		args = append(args, "--regexp="+regexp.QuoteMeta(one), "--regexp="+utf16Text(one, n.fold, false), "--regexp="+utf16Text(one, n.fold, true))
	}
	args = append(append(args, "--"), names...)
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.ripgrep, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = []string{}, "/", io.Discard
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, false
	}
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if len(name) > 0 {
			hits = append(hits, string(name))
		}
	}
	return hits, true
}
