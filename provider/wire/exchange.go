package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	maxErrorBody = 64 << 10
	drainBytes   = 64 << 10
	drainTime    = 100 * time.Millisecond
)

// Exchange is one request and its answer. It is used by one goroutine.
type Exchange struct {
	ctx     context.Context
	cancel  context.CancelFunc
	used    atomic.Bool
	getConn atomic.Bool // the transport reports what it does
	gotConn atomic.Bool
	at      time.Time
	status  int
	header  http.Header
	body    io.ReadCloser
	failure error
	marked  bool
}

type exchangeKey struct{}

// Begin starts an exchange. Close it.
func Begin(ctx context.Context) *Exchange {
	x := &Exchange{}
	ctx, x.cancel = context.WithCancel(ctx)
	x.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { x.getConn.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { x.gotConn.Store(true) },
	})
	return x
}

// Context carries the exchange to the transport of [Client].
func (x *Exchange) Context() context.Context {
	return context.WithValue(x.ctx, exchangeKey{}, x)
}

// Close ends the exchange and its request.
func (x *Exchange) Close() {
	x.cancel()
	if x.body != nil {
		x.body.Close()
	}
}

// Finish is Close after a complete answer: it reads the few bytes that may
// follow, for at most a tenth of a second, so that the connection can be used
// again.
func (x *Exchange) Finish() {
	if x.body != nil {
		t := time.AfterFunc(drainTime, x.cancel)
		_, _ = io.CopyN(io.Discard, x.body, drainBytes)
		t.Stop()
	}
	x.Close()
}

// Err says why there is no answer to read, or returns nil.
func (x *Exchange) Err() error { return x.failure }

// Status is the HTTP status of the answer, 0 without one.
func (x *Exchange) Status() int { return x.status }

// Header is the header of the answer, nil without one.
func (x *Exchange) Header() http.Header { return x.header }

// At is when the answer's header arrived, zero without one.
func (x *Exchange) At() time.Time { return x.at }

// Marked reports whether the end of the stream was the marker [DONE].
func (x *Exchange) Marked() bool { return x.marked }

// Sent reports whether the request may have reached the server.
func (x *Exchange) Sent() bool {
	if x.status != 0 || x.gotConn.Load() {
		return true
	}
	if x.getConn.Load() || !x.used.Load() {
		return false
	}
	return x.failure != nil && !beforeSend(x.failure)
}

func beforeSend(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns) ||
		errors.As(err, &cert) || errors.As(err, &unknown) || errors.As(err, &record)
}

// Client returns a client for a vendor's SDK. It sends through the transport
// of base (nil for the default); nothing else of base is used.
func Client(base *http.Client) *http.Client {
	t := transport{http.DefaultTransport}
	if base != nil && base.Transport != nil {
		t.next = base.Transport
	}
	return &http.Client{Transport: t}
}

type transport struct{ next http.RoundTripper }

// RoundTrip sends the request of an exchange, keeps the answer, and gives the
// SDK an empty one.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*Exchange)
	if !ok {
		return nil, errors.New("sending a request: it belongs to no exchange")
	}
	if err := x.ctx.Err(); err != nil {
		x.failure = &SendError{Err: err}
		return nil, x.failure
	}
	if x.used.Swap(true) {
		return nil, errors.New("sending a request: the exchange already has one")
	}
	resp, err := t.next.RoundTrip(req.WithContext(x.ctx))
	if err != nil {
		if ctxErr := x.ctx.Err(); ctxErr != nil {
			err = ctxErr
		}
		x.failure = &SendError{Err: bare(err)}
		return nil, x.failure
	}
	x.at = time.Now()
	x.status, x.header = resp.StatusCode, resp.Header
	if resp.StatusCode/100 != 2 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		resp.Body.Close()
		x.failure = &StatusError{Status: resp.StatusCode, Body: body}
		return nil, x.failure
	}
	x.body = resp.Body
	return &http.Response{
		Status: resp.Status, StatusCode: resp.StatusCode,
		Proto: resp.Proto, ProtoMajor: resp.ProtoMajor, ProtoMinor: resp.ProtoMinor,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   http.NoBody, Request: req,
	}, nil
}

// bare removes the wrapping that repeats the URL, which may hold credentials.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
