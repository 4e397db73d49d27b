package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const (
	// maxBody bounds the body of an answer, and its header, in bytes. The longest that is
	// expected is a page of 100 player sessions, each with up to 2 KiB of data.
	maxBody = 1 << 20
	// maxPages bounds the pages of a list.
	maxPages = 100
	// maxReason bounds what is kept of a reason that a remote states, in bytes.
	maxReason = 512
)

// bounded limits the bodies of answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &body{ReadCloser: response.Body, left: maxBody}
	}
	return response, err
}

var errTooLong = fmt.Errorf("the answer is longer than %d bytes", maxBody)

// body is the body of an answer, which fails when it is too long.
type body struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// pages calls next for each page of a list until it returns no token.
func pages(next func() (token *string, err error)) error {
	last := ""
	for range maxPages {
		token, err := next()
		if err != nil || aws.ToString(token) == "" {
			return err
		}
		if *token == last {
			return errors.New("the answer leads to the same page again")
		}
		last = *token
	}
	return fmt.Errorf("the list has more than %d pages", maxPages)
}

// cut returns a reason as it is kept: valid text of at most maxReason bytes.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxReason {
		return s
	}
	end := maxReason - len("…")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// short returns an error whose text is bounded.
func short(err error) error {
	if len(err.Error()) <= maxReason {
		return err
	}
	return &shortened{err}
}

type shortened struct{ error }

// Error implements error.
func (e *shortened) Error() string { return cut(e.error.Error()) }

// Unwrap returns the error whose text is shortened.
func (e *shortened) Unwrap() error { return e.error }
