package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/tenonrun/tenon/artifact"
)

const logFile = "log"

// journal is the log of a collection as far as it was read.
type journal struct {
	log  artifact.Log
	file *os.File    // nil when there is none
	info fs.FileInfo // of the file
	end  int64       // where the next line begins
	torn bool        // something that is no line follows
	line int
	bad  []Bad
}

// Bad is a line of a log that was left out.
type Bad struct {
	Collection string
	Line       int // from 1; 0 is the record of what is published
	Err        error
}

// Error says which line it is.
func (b Bad) Error() string {
	if b.Line == 0 {
		return fmt.Sprintf("what collection %s published cannot be read: %v", b.Collection, b.Err)
	}
	return fmt.Sprintf("line %d of the log of collection %s is left out: %v", b.Line, b.Collection, b.Err)
}

// Unwrap returns the cause.
func (b Bad) Unwrap() error { return b.Err }

// catchUp reads what others appended. It needs the lock of the collection's
// values, not the turn: a last line that is not whole yet is read later.
func (s *collection) catchUp() error {
	root, err := s.all.reading()
	if err != nil || root == nil {
		return err
	}
	info, err := root.Stat(path.Join(s.dir, logFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s.forget()
	}
	if err != nil {
		return err
	}
	j := &s.journal
	if j.file != nil && (!os.SameFile(j.info, info) || info.Size() < j.end) {
		if err := s.forget(); err != nil { // another file took its place
			return err
		}
	}
	if j.file == nil {
		if j.file, err = root.OpenFile(path.Join(s.dir, logFile), os.O_RDWR, 0); err != nil {
			j.file = nil
			return err
		}
		if j.info, err = j.file.Stat(); err != nil {
			return err
		}
	}
	if info.Size() > j.end {
		if err := j.read(info.Size(), s.name); err != nil {
			return err
		}
	} else {
		j.torn = false
	}
	return s.readPublications(root)
}

// forget drops what was read.
func (s *collection) forget() error {
	err := error(nil)
	if s.journal.file != nil {
		err = s.journal.file.Close()
	}
	s.journal, s.published = journal{}, nil
	return err
}

// readChunk bounds how much of a log is read at a time, when no line is longer.
const readChunk = 1 << 20

// read reads the lines up to a size.
func (j *journal) read(size int64, name string) error {
	buf := make([]byte, min(size-j.end, readChunk))
	for j.end < size {
		n, err := j.file.ReadAt(buf[:min(int64(len(buf)), size-j.end)], j.end)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		rest := buf[:n]
		for {
			line, after, found := bytes.Cut(rest, []byte("\n"))
			if !found {
				break
			}
			j.take(line, name)
			j.end += int64(len(line)) + 1
			rest = after
		}
		if len(rest) < n { // at least one line
			continue
		}
		if j.end+int64(n) >= size || n == 0 {
			j.torn = true
			return nil
		}
		buf = make([]byte, 2*len(buf)) // a line is longer than the buffer
	}
	j.torn = false
	return nil
}

func (j *journal) take(line []byte, name string) {
	j.line++
	r, err := parseRecord(line)
	if err == nil {
		_, err = j.log.Add(r)
	}
	if err != nil {
		j.bad = append(j.bad, Bad{Collection: name, Line: j.line, Err: err})
	}
}

// mend removes what a crash left behind the last line. It needs the turn.
func (s *collection) mend() error {
	j := &s.journal
	if j.file == nil || !j.torn {
		return nil
	}
	if err := j.file.Truncate(j.end); err != nil {
		return err
	}
	j.torn = false
	return s.all.disk.sync(j.file)
}

// append writes revisions durably behind the last line, and then knows them. When
// it fails nothing of them stays. It needs the turn.
func (s *collection) append(revs []artifact.Revision) error {
	j := &s.journal
	var buf []byte
	for i := range revs {
		var err error
		if buf, err = appendRecord(buf, &revs[i]); err != nil {
			return err
		}
	}
	if err := s.create(); err != nil {
		return err
	}
	_, err := s.all.disk.write(j.file, buf, j.end)
	if err == nil {
		err = s.all.disk.sync(j.file)
	}
	if err != nil {
		j.torn = true // should the next line fail as well, the next writer mends it
		return errors.Join(err, s.mend())
	}
	for _, r := range revs {
		if _, err := j.log.Add(r); err != nil {
			return err
		}
	}
	j.end += int64(len(buf))
	j.line += len(revs)
	return nil
}

// create makes the log when there is none.
func (s *collection) create() error {
	j := &s.journal
	if j.file != nil {
		return nil
	}
	f, err := s.all.root.OpenFile(path.Join(s.dir, logFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err = s.all.syncDir(s.dir); err == nil {
		err = s.all.syncDir(".")
	}
	if err == nil {
		j.info, err = f.Stat()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	j.file = f
	return nil
}
