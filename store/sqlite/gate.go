package sqlite

import (
	"crypto/rand"
	"errors"
	"os"
	"time"
)

// gate lets one process write at a time, first come first served, so that none
// starves behind SQLite's own waiting. Its file says who came through it last.
type gate struct {
	file    *os.File
	pending chan error // a blocking wait that outlived its batch
	mark    [16]byte   // of this gate, and of no other
	seen    [16]byte
	again   bool // nobody else had the lock since this gate let it go
}

// gateWait bounds how long a batch waits for another process.
const gateWait = 10 * time.Second

var errGate = errors.New("another process does not let go of it")

func openGate(name string) (*gate, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	g := &gate{file: f}
	_, _ = rand.Read(g.mark[:]) // it never fails
	return g, nil
}

// lock takes the lock, and finds out whether this gate had it last.
func (g *gate) lock() error {
	if err := g.take(); err != nil {
		return err
	}
	n, _ := g.file.ReadAt(g.seen[:], 0) // a file that cannot be read has no mark
	if g.again = n == len(g.mark) && g.seen == g.mark; g.again {
		return nil
	}
	if _, err := g.file.WriteAt(g.mark[:], 0); err != nil {
		g.unlock()
		return err
	}
	return nil
}

func (g *gate) take() error {
	if g.pending == nil {
		err := tryLock(g.file, exclusive)
		if !errors.Is(err, errTaken) {
			return err
		}
		g.pending = make(chan error, 1)
		// It ends when the lock comes, at the latest with the process that
		// holds it; the next batch goes on waiting for it.
		go func(got chan<- error) { got <- waitLock(g.file) }(g.pending)
	}
	t := time.NewTimer(gateWait)
	defer t.Stop()
	select {
	case err := <-g.pending:
		g.pending = nil
		return err
	case <-t.C:
		return errGate
	}
}

func (g *gate) unlock() {
	// Only a bad descriptor can fail here, and Close reports that.
	_ = unlock(g.file)
}

func (g *gate) close() error { return g.file.Close() }
