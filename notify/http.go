package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/musterhq/muster/internal/outgoing"
	"github.com/musterhq/muster/internal/tracing"
)

type poster struct {
	url     string
	headers map[string]string
	timeout time.Duration
	client  *http.Client
}

// Limits of a receiver's answer.
const (
	maxAnswer      = 64 << 10 // read, so that the connection can be reused
	maxAnswerShown = 200      // shown in an error
	maxAnswerHead  = 64 << 10
)

const userAgent = "Muster-Notify/1"

func newPoster(c *SinkConfig, transport http.RoundTripper) *poster {
	return &poster{url: c.URL, headers: c.Headers, timeout: c.Timeout, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// newTransport returns the transport that all sinks share.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: outgoing.Control}
	return &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: maxAnswerHead,
		MaxIdleConnsPerHost:    maxInFlight, IdleConnTimeout: 90 * time.Second,
		ForceAttemptHTTP2: true,
	}
}

// post sends one request. 2xx is success; a redirect is not followed.
func (p *poster) post(ctx context.Context, headers map[string]string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL makes no request") // without the URL, which may contain a password
	}
	req.Header.Set("User-Agent", userAgent)
	for _, set := range []map[string]string{headers, p.headers} {
		for name, value := range set {
			req.Header.Set(name, value)
		}
	}
	tracing.Inject(ctx, req.Header)
	resp, err := p.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return answered(resp, answer)
}

// withoutURL removes the URL from a client's error: it may contain secrets.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// answerError is the answer of a receiver that did not accept the notice.
type answerError struct {
	text    string
	refused bool          // the receiver rejected the notice; false for a temporary condition
	after   time.Duration // for how long it must not be sent anything
}

// Error returns the status and the beginning of the answer.
func (e *answerError) Error() string { return e.text }

func isRefusal(err error) bool {
	e, ok := errors.AsType[*answerError](err)
	return ok && e.refused
}

// maxRetryAfter limits how long a receiver may request a pause.
const maxRetryAfter = 5 * time.Minute

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*answerError](err); ok {
		return e.after
	}
	return 0
}

// answered returns the error for an answer that is not a success. Redirects and 4xx
// are refusals, except for those about a temporary condition.
func answered(resp *http.Response, answer []byte) error {
	text := fmt.Sprintf("HTTP %d", resp.StatusCode)
	if shown := printable(answer); shown != "" {
		text += ": " + shown
	}
	switch code := resp.StatusCode; {
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil || seconds < 0 {
			seconds = 0
		}
		return &answerError{text: text, after: min(time.Duration(min(seconds, 3600))*time.Second, maxRetryAfter)}
	case code/100 == 3:
		text += " (redirects are not followed)"
	}
	return &answerError{text: text, refused: true}
}

// printable returns the beginning of an answer as one line of text.
func printable(answer []byte) string {
	answer = answer[:min(len(answer), maxAnswerShown)]
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, string(answer)))
}
