// Package client calls a Muster server, or any other that speaks the Amazon GameLift
// API, for our own commands: AWS JSON 1.1 with or without a signature, and the
// console's event stream. Other programs use AWS's SDKs.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/internal/plain"
)

// Client calls one endpoint. Only Endpoint is required.
type Client struct {
	Endpoint    string // base URL
	Region      string // of signatures; default us-east-1
	Credentials Credentials
	HTTP        *http.Client // default http.DefaultClient
}

// Credentials are an access key; the zero value sends requests unsigned.
type Credentials struct {
	AccessKeyID, SecretAccessKey, SessionToken string
}

// Error is a response with an error status.
type Error struct {
	Status  int
	Code    string // exception name, may be ""
	Message string
}

// Error returns the code, or else the HTTP status, and the message.
func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("HTTP status %d: %s", e.Status, e.Message)
	}
	return e.Code + ": " + e.Message
}

// maxAnswer bounds the size of a response, in bytes.
const maxAnswer = 64 << 20

// Call runs an operation: in is encoded as its input, the response is decoded into out
// unless out is nil. If the server refuses, the error is an *Error.
func (c *Client) Call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode %s: %w", operation, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(c.Endpoint, "/")+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "GameLift."+operation)
	answer, err := c.do(r, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("decode answer of %s: %w", operation, err)
	}
	return nil
}

// get requests a path of the console.
func (c *Client) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	target := strings.TrimRight(c.Endpoint, "/") + path + "?" + query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	return c.do(r, nil)
}

// read requests a document from the console and decodes it into out.
func (c *Client) read(ctx context.Context, path string, out any) (json.RawMessage, error) {
	return c.query(ctx, path, url.Values{}, out)
}

// query is like read, with query parameters.
func (c *Client) query(ctx context.Context, path string, query url.Values, out any) (json.RawMessage, error) {
	answer, err := c.get(ctx, path, query)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	return raw, nil
}

// do signs and sends a request; any status but 200 yields an *Error.
func (c *Client) do(r *http.Request, body []byte) (*http.Response, error) {
	if c.Credentials.AccessKeyID != "" {
		c.sign(r, body, time.Now())
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	answer, err := h.Do(r)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("no server answers at %s: start one with 'muster local' or 'muster serve', or name yours with --endpoint or MUSTER_ENDPOINT: %w", c.Endpoint, err)
	}
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, refusal(answer)
	}
	return answer, nil
}

func refusal(answer *http.Response) error {
	e := &Error{Status: answer.StatusCode}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("read answer of status %d: %w", answer.StatusCode, err)
	}
	var body struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &body) != nil {
		body.Message = strings.TrimSpace(string(text))
	}
	e.Code, e.Message = plain.Line(body.Type[strings.LastIndex(body.Type, "#")+1:]), plain.Line(body.Message)
	return e
}
