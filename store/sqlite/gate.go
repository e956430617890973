package sqlite

import (
	"errors"
	"os"
	"time"
)

// gate lets one process write at a time, first come first served, so that none
// starves behind SQLite's own waiting.
type gate struct {
	file    *os.File
	pending chan error // a blocking wait that outlived its batch
}

// gateWait bounds how long a batch waits for another process.
const gateWait = 10 * time.Second

var errGate = errors.New("another process does not let go of it")

func openGate(name string) (*gate, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &gate{file: f}, nil
}

func (g *gate) lock() error {
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
