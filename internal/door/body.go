package door

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"time"
)

// Bounds on reading a body that no handler has read, so that its sender sees the
// response: many clients read one only after they have sent everything.
const (
	linger = 2 * time.Second
	rest   = 8 << 20
)

// ErrBusy means that the bodies in memory have reached the limit on their total size.
var ErrBusy = errors.New("too many bytes of requests are held at the moment")

// body is a request's body, with a deadline until it has been read.
type body struct {
	io.ReadCloser
	door    *Door
	writer  http.ResponseWriter // has the deadline
	network netip.Prefix
	left    int64 // bytes to come; negative if unknown
	expects bool  // the client waits for 100 Continue
	begun   bool
	over    bool // read to its end, or to an error
	held    int64
}

func (d *Door) newBody(w http.ResponseWriter, r *http.Request) *body {
	b := &body{
		ReadCloser: r.Body, door: d, writer: w, network: Network(Client(r)),
		left: r.ContentLength, expects: r.Header.Get("Expect") != "",
	}
	b.setDeadline(time.Now().Add(d.opts.BodyTimeout)) // net/http resets it before the next request
	return b
}

func (b *body) setDeadline(t time.Time) { http.NewResponseController(b.writer).SetReadDeadline(t) }

// Read removes the deadline at the end of the body, or it would end the request while
// its handler works.
func (b *body) Read(p []byte) (int, error) {
	b.begun = true
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	if (err != nil || b.left == 0) && !b.over {
		b.over = true
		if err == nil || err == io.EOF {
			b.setDeadline(time.Time{})
		}
	}
	return n, err
}

// finish reads what the handler has not read, for a limited time: net/http would wait
// for it, and closing the connection before would lose the response.
func (b *body) finish() {
	if b.over {
		return
	}
	b.setDeadline(time.Now().Add(min(linger, b.door.opts.BodyTimeout)))
	if b.begun || !b.expects {
		_, _ = io.CopyN(io.Discard, b.ReadCloser, rest) // the response is complete either way
	}
}

func (b *body) reserve(n int64) error {
	if b == nil { // the request has not passed a Door
		return nil
	}
	if !b.door.budget.take(b.network, n) {
		return ErrBusy
	}
	b.held += n
	return nil
}

func (b *body) release() { b.door.budget.give(b.network, b.held) }

// step is how many bytes are reserved at a time for bodies of unknown length.
const step = 64 << 10

// ReadBody appends the body of a request to a buffer. Its bytes count as held in memory
// until the request's handler returns. Errors: *http.MaxBytesError if the body has more
// than most bytes, ErrBusy, and errors of reading.
func ReadBody(r *http.Request, into *bytes.Buffer, most int64) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if r.ContentLength > most {
		return &http.MaxBytesError{Limit: most}
	}
	b, _ := r.Body.(*body)
	size := r.ContentLength
	if size < 0 {
		size = step
	}
	for total := int64(0); ; {
		if err := b.reserve(size); err != nil {
			return err
		}
		into.Grow(int(size) + bytes.MinRead)
		n, err := io.CopyN(into, r.Body, size)
		total += n
		switch {
		case total > most:
			return &http.MaxBytesError{Limit: most}
		case err == io.EOF:
			return nil
		case err != nil || r.ContentLength >= 0:
			return err
		}
	}
}

// Patient returns the body of a request with a deadline for each read instead of one
// for the whole: it gives up on a sender that stalls, not on a slow one.
func Patient(w http.ResponseWriter, of io.ReadCloser, quiet time.Duration) io.ReadCloser {
	return &patient{of, http.NewResponseController(w), quiet}
}

type patient struct {
	io.ReadCloser
	control *http.ResponseController
	quiet   time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	p.control.SetReadDeadline(time.Now().Add(p.quiet))
	return p.ReadCloser.Read(b)
}
