package player

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/musterhq/muster/sdk/session"
)

type call struct {
	method, path string
	in           any         // the body; nil for none
	header       http.Header // additional request headers
	answered     func(*http.Response)
	once         bool // the caller has its own way to try again
}

type transport struct {
	base string // including the API's path
	http *http.Client
}

// maxAnswer is how much of a response is read, in bytes.
const maxAnswer = 4 << 20

// call makes a request as the player with a valid access token, and repeats it once
// with a new token if that one is refused.
func (a *account) call(ctx context.Context, r call, out any) error {
	return repeat(ctx, r, func() error { return a.callWith(ctx, a.access, r, out) })
}

// ask makes a request that needs no login.
func (t *transport) ask(ctx context.Context, path string, out any) error {
	r := call{method: http.MethodGet, path: path}
	return repeat(ctx, r, func() error { return t.send(ctx, r, out) })
}

func (a *account) callWith(ctx context.Context, access func(ctx context.Context, stale string) (string, error), r call, out any) error {
	stale := ""
	for {
		token, err := access(ctx, stale)
		if err != nil {
			return err
		}
		if r.header = r.header.Clone(); r.header == nil {
			r.header = http.Header{}
		}
		r.header.Set("Authorization", "Bearer "+token)
		err = a.send(ctx, r, out)
		if !staleToken(err) || stale != "" {
			return err
		}
		stale = token
	}
}

// poll reads a row of the player into out. If the client has read it at the number seq, it
// waits for a change, and leaves out as it is if there was none.
func (a *account) poll(ctx context.Context, path string, seq int64, wait time.Duration, out any) error {
	r := call{method: http.MethodGet, path: path, header: http.Header{}, once: true}
	if seq > 0 {
		r.path += "?wait=" + strconv.Itoa(int(wait.Seconds()))
		r.header.Set("If-None-Match", strconv.Quote(strconv.FormatInt(seq, 10)))
	}
	return a.call(ctx, r, out)
}

func staleToken(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && (p.Code == "token-invalid" || p.Code == "token-expired")
}

// send makes a request and decodes the response into out, unless out is nil or the
// body is empty.
func (t *transport) send(ctx context.Context, r call, out any) error {
	request, err := t.request(ctx, r)
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalid, err)
	}
	response, err := t.http.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", session.ErrUnavailable, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: read the answer: %w", session.ErrUnavailable, err)
	}
	if r.answered != nil {
		r.answered(response)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return problemOf(response, text)
	}
	if out == nil || len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%w: %s %s: the answer is not of the form described: %w", session.ErrUnavailable, r.method, r.path, err)
	}
	return nil
}

func (t *transport) request(ctx context.Context, r call) (*http.Request, error) {
	var body io.Reader
	if r.in != nil {
		text, err := json.Marshal(r.in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	out, err := http.NewRequestWithContext(ctx, r.method, t.base+r.path, body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		out.Header[name] = values
	}
	if body != nil {
		out.Header.Set("Content-Type", "application/json")
	}
	return out, nil
}
