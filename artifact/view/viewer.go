package view

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/tenonrun/tenon/artifact"
	"github.com/tenonrun/tenon/workflow"
)

// Warning is to be told with the address of an artifact that runs scripts.
const Warning = "Scripts of this page run in a sandbox: they cannot read your files, cookies or other artifacts, nor send requests to other servers. A browser still lets them send WebRTC and preconnect packets, which tell a server that the page is open."

// Config sets up a Viewer.
type Config struct {
	Store   artifact.Store
	ID      string
	Version int64 // the one that is shown first; 0 and artifact.Latest are the current one
	// Patience bounds how long the page may take to open; 0 is 5 minutes.
	Patience time.Duration
	// Linger is how long the page may be gone before the viewer ends; 0 is 3
	// seconds.
	Linger time.Duration
	// Saved is told each revision that the person saved; nil does not listen.
	Saved func(artifact.Descriptor)
}

// Viewer serves one artifact until its page is closed.
type Viewer struct {
	cfg             Config
	app, stage      string // hosts with their ports
	entry, key, cap string // secrets: of the address, of the page, of the frame
	servers         []*http.Server
	cancel          context.CancelFunc
	done            chan struct{}
	served          sync.WaitGroup
	saving          sync.RWMutex // held for reading by a save

	mu     sync.Mutex
	opened bool
	open   int             // pages that are connected
	alarm  *time.Timer     // ends the viewer
	err    error           // of a server
	closed sync.Once       // of done
	life   context.Context // of the servers, for handlers that stay
}

// Open starts a viewer. ctx bounds its life. The error has workflow.CodeNotFound
// when the artifact or the version is not there.
func Open(ctx context.Context, c Config) (*Viewer, error) {
	if c.Version == 0 {
		c.Version = artifact.Latest
	}
	if c.Patience <= 0 {
		c.Patience = 5 * time.Minute
	}
	if c.Linger <= 0 {
		c.Linger = 3 * time.Second
	}
	r, _, err := c.Store.Read(ctx, c.ID, c.Version)
	if err != nil {
		return nil, fmt.Errorf("opening artifact %s: %w", c.ID, err)
	}
	c.Version = r.Version
	v := &Viewer{cfg: c, entry: secret(), key: secret(), cap: secret(), done: make(chan struct{})}
	listeners, err := v.listen(ctx)
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInternal, "opening the viewer: %w", err).WithHint("allow this program to listen on loopback")
	}
	v.life, v.cancel = context.WithCancel(ctx)
	v.alarm = time.AfterFunc(c.Patience, v.end)
	v.serve(listeners[0], v.only(v.stage, v.stageHandler()))
	for _, l := range listeners[1:] {
		v.serve(l, v.only(v.app, v.appHandler()))
	}
	v.served.Go(func() {
		select {
		case <-v.life.Done():
			v.end()
		case <-v.done:
		}
		v.shut()
	})
	return v, nil
}

// listen opens the place of the artifact and, behind it, that of our page: on both
// addresses of "localhost" where there are two, so that nobody else can have one.
func (v *Viewer) listen(ctx context.Context) (all []net.Listener, err error) {
	var c net.ListenConfig
	for range 10 {
		for range 2 {
			l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return nil, errors.Join(err, closeAll(all))
			}
			all = append(all, l)
		}
		v.stage, v.app = hostOf("127.0.0.1", all[0]), hostOf("localhost", all[1])
		_, port, _ := net.SplitHostPort(v.app) // of ours
		six, err := c.Listen(ctx, "tcp6", net.JoinHostPort("::1", port))
		if err == nil {
			return append(all, six), nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return all, nil // there is no second address
		}
		if err := closeAll(all); err != nil {
			return nil, err
		}
		all = nil
	}
	return nil, errors.New("no free port is the same on both addresses of localhost")
}

func closeAll(all []net.Listener) error {
	var errs []error
	for _, l := range all {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

func hostOf(name string, l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String()) // an address of ours
	return net.JoinHostPort(name, port)
}

// secret returns 128 bits that nobody guesses.
func secret() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	return hex.EncodeToString(b[:])
}

// URL is the address that opens the page, once.
func (v *Viewer) URL() string { return "http://" + v.app + "/open/" + v.entry }

// Wait returns when the page was closed, nobody opened it in time, or the context
// of Open ended.
func (v *Viewer) Wait() error {
	v.served.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

// Close ends the viewer and waits for that.
func (v *Viewer) Close() error {
	v.end()
	return v.Wait()
}

func (v *Viewer) end() { v.closed.Do(func() { close(v.done) }) }

func (v *Viewer) serve(l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return v.life }}
	v.servers = append(v.servers, s)
	v.served.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			v.mu.Lock()
			v.err = errors.Join(v.err, err)
			v.mu.Unlock()
			v.end()
		}
	})
}

// shut closes the servers; a save that is under way ends first.
func (v *Viewer) shut() {
	v.saving.Lock()
	v.cancel() // a save that comes now does not happen
	v.saving.Unlock()
	v.mu.Lock()
	v.alarm.Stop()
	v.mu.Unlock()
	for _, s := range v.servers {
		s.Close() //nolint:errcheck // nobody waits for an answer any more
	}
}

// enter notes that a page is there. The returned function notes that it is gone.
func (v *Viewer) enter() (leave func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open++
	v.alarm.Stop()
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.open--; v.open == 0 {
			v.alarm.Reset(v.cfg.Linger)
		}
	}
}

// first reports whether the address is used for the first time.
func (v *Viewer) first() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	first := !v.opened
	v.opened = true
	return first
}

// only answers requests to a host, so that no name that leads here by a trick is
// taken for it.
func (v *Viewer) only(host string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != host {
			http.Error(w, "this address is not served here", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}
