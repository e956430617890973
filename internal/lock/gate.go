package lock

import (
	"crypto/rand"
	"errors"
	"os"
	"time"
)

// Gate lets one process write at a time, first come first served, so that none
// starves. Its file says who came through it last. A Gate is for one goroutine at
// a time.
type Gate struct {
	file    *os.File
	pending chan error // a blocking wait that outlived its Lock
	mark    [16]byte   // of this gate, and of no other
	seen    [16]byte
	again   bool          // nobody else had the lock since this gate let it go
	wait    time.Duration // gateWait
}

// gateWait bounds how long Lock waits for another process.
const gateWait = 10 * time.Second

// ErrBusy is the answer of Gate.Lock when another process has the gate too long.
var ErrBusy = errors.New("another process does not let go of it")

// OpenGate opens the file of a gate, and makes it when it is not there.
func OpenGate(name string) (*Gate, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	g := &Gate{file: f, wait: gateWait}
	_, _ = rand.Read(g.mark[:]) // it never fails
	return g, nil
}

// Lock takes the lock, and finds out whether this gate had it last. Errors:
// ErrBusy, after which the next Lock goes on waiting, and those of the file.
func (g *Gate) Lock() error {
	if err := g.take(); err != nil {
		return err
	}
	n, _ := g.file.ReadAt(g.seen[:], 0) // a file that cannot be read has no mark
	if g.again = n == len(g.mark) && g.seen == g.mark; g.again {
		return nil
	}
	if _, err := g.file.WriteAt(g.mark[:], 0); err != nil {
		g.Unlock()
		return err
	}
	return nil
}

func (g *Gate) take() error {
	if g.pending == nil {
		err := tryLock(g.file, exclusive)
		if !errors.Is(err, errTaken) {
			return err
		}
		g.pending = make(chan error, 1)
		// It ends when the lock comes, at the latest with the process that
		// holds it; the next Lock goes on waiting for it.
		go func(got chan<- error) { got <- waitLock(g.file) }(g.pending)
	}
	t := time.NewTimer(g.wait)
	defer t.Stop()
	select {
	case err := <-g.pending:
		g.pending = nil
		return err
	case <-t.C:
		return ErrBusy
	}
}

// Again reports whether nobody else came through since this gate was unlocked
// last. It holds from a Lock to its Unlock.
func (g *Gate) Again() bool { return g.again }

// Unlock lets the next one through.
func (g *Gate) Unlock() {
	// Only a bad descriptor can fail here, and Close reports that.
	_ = unlock(g.file)
}

// Close closes the file, which stays.
func (g *Gate) Close() error { return g.file.Close() }
