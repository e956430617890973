package providertest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// Server is a stand-in for the vendors, on loopback.
type Server struct {
	URL string // http://127.0.0.1:PORT

	respond func(Request) Reply
	http    *http.Server
	done    chan struct{}

	mu       sync.Mutex
	queue    []Reply
	requests []Request
	calls    map[string]int
}

// NewServer starts a server on a free port. Respond answers each request; nil
// takes the pushed replies in order and then [Reply]'s zero value. With a test
// the server is closed at its end; without one (nil) the caller closes it.
func NewServer(tb testing.TB, respond func(Request) Reply) *Server {
	s, err := Listen("127.0.0.1:0", respond)
	if tb == nil {
		if err != nil {
			panic(err) // there is nobody to tell
		}
		return s
	}
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Listen starts a server on an address, for child processes that must know it
// before. Close it.
func Listen(addr string, respond func(Request) Reply) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("starting the model server: %w", err)
	}
	s := &Server{
		URL: "http://" + l.Addr().String(), respond: respond,
		done: make(chan struct{}), calls: map[string]int{},
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // ends with ErrServerClosed
	}()
	return s, nil
}

// Close ends the server and every open connection.
func (s *Server) Close() {
	_ = s.http.Close() // closing twice is fine
	<-s.done
}

// Base is the base URL that an adapter of the protocol is configured with.
func (s *Server) Base(p Protocol) string {
	if p == Chat || p == Responses {
		return s.URL + "/v1"
	}
	return s.URL
}

// Push queues replies.
func (s *Server) Push(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Requests returns what was asked so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Calls returns how many requests had exactly this prompt.
func (s *Server) Calls(prompt string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[prompt]
}

// Total returns how many requests came.
func (s *Server) Total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	req := record(r, body)
	if r.Method != http.MethodPost || req.Protocol == "" {
		http.Error(w, `{"error":{"message":"unknown path `+r.URL.Path+`","type":"not_found_error"}}`, http.StatusNotFound)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.calls[req.Prompt]++
	s.mu.Unlock()
	answer(w, r, req, s.choose(req))
}

func (s *Server) choose(req Request) Reply {
	if s.respond != nil {
		return s.respond(req)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Reply{}
	}
	reply := s.queue[0]
	s.queue = s.queue[1:]
	return reply
}

func answer(w http.ResponseWriter, r *http.Request, req Request, reply Reply) {
	if reply.Text == "" && len(reply.Calls) == 0 && !reply.Blank {
		reply.Text = "ok"
	}
	if reply.Delay > 0 && !sleep(r, reply.Delay) {
		return
	}
	for k, v := range reply.Header {
		w.Header().Set(k, v)
	}
	switch {
	case reply.Hang:
		<-r.Context().Done()
	case reply.Empty:
		w.Header().Set("Content-Type", "text/event-stream")
	case reply.Raw != "":
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, reply.Raw)
	case reply.HTML:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(max(reply.Status, http.StatusOK))
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><head><title>Sign in to the proxy</title></head><body>hello</body></html>")
	case reply.Status != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		_, _ = io.WriteString(w, reply.errorBody(req.Protocol))
	case req.Stream:
		stream(w, r, req, reply)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encode(whole(req, reply)))
	}
}

func sleep(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// event is one server-sent event.
type event struct {
	name string
	data []byte
}

func stream(w http.ResponseWriter, r *http.Request, req Request, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	events := events(req, reply)
	half := len(events) / 2
	fails := reply.Cut || reply.Stall || reply.End || reply.Broken || reply.NUL || reply.Tell != ""
	for i, e := range events {
		if fails && i == half {
			fail(w, r, req.Protocol, reply)
			return
		}
		send(w, e)
	}
}

func send(w http.ResponseWriter, e event) {
	if e.name != "" {
		_, _ = fmt.Fprintf(w, "event: %s\n", e.name)
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", e.data)
	_ = http.NewResponseController(w).Flush()
}

func fail(w http.ResponseWriter, r *http.Request, p Protocol, reply Reply) {
	switch {
	case reply.Cut:
		reset(w)
	case reply.Stall:
		<-r.Context().Done()
	case reply.Broken:
		send(w, event{data: []byte(`{"type":"content_block_delta","delta":{"te`)})
	case reply.NUL:
		send(w, event{data: []byte("{\"text\":\"a\x00\x00b\"}")})
	case reply.Tell != "":
		reply.Kind = reply.Tell
		name := ""
		if p == Anthropic {
			name = "error"
		}
		send(w, event{name, []byte(reply.errorBody(p))})
	}
}

// reset closes the connection so that the client sees it cut.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
