// Package client calls a Muster server, or any other that speaks the Amazon GameLift
// API, for our own commands: AWS JSON 1.1 with or without a signature, and the
// console's event stream. Other programs use AWS's SDKs.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/musterhq/muster/internal/plain"
)

// RegionHeader is the header in which a request names its region if no signature does.
const RegionHeader = "Muster-Region"

// Client calls one endpoint. Only Endpoint is required.
type Client struct {
	Endpoint    string // base URL
	Region      string // to which requests go; default us-east-1, and for unsigned ones the home region
	Credentials Credentials
	HTTP        *http.Client // default http.DefaultClient
}

// Credentials are an access key; the zero value sends requests unsigned.
type Credentials = aws.Credentials

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
	_, err := c.send(ctx, http.MethodPost, "/", in, out, http.Header{
		"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"GameLift." + operation},
	})
	return err
}

// read requests a document and decodes it into out; raw is the whole response.
func (c *Client) read(ctx context.Context, path string, out any) (raw json.RawMessage, err error) {
	return c.send(ctx, http.MethodGet, path, nil, out, nil)
}

// change sends a request for a change, with in as its body unless it is nil, and decodes
// the response into out.
func (c *Client) change(ctx context.Context, method, path string, in, out any) error {
	_, err := c.send(ctx, method, path, in, out, http.Header{"Content-Type": {"application/json"}})
	return err
}

// send is like open, and decodes the response into out unless out is nil.
func (c *Client) send(ctx context.Context, method, path string, in, out any, header http.Header) (raw json.RawMessage, err error) {
	answer, err := c.open(ctx, method, path, in, header)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if raw, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return nil, fmt.Errorf("read answer of %s %s: %w", method, path, err)
	}
	if out == nil {
		return raw, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode answer of %s %s: %w", method, path, err)
	}
	return raw, nil
}

// open sends a request to a path, with in as its body unless in is nil, and returns the
// response, whose body the caller must close. Any status but 200 and 204 yields an *Error.
func (c *Client) open(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, fmt.Errorf("encode %s: %w", path, err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.Endpoint, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, header)
	if c.Credentials.AccessKeyID != "" {
		if err := c.sign(r, body, time.Now()); err != nil {
			return nil, err
		}
	} else if c.Region != "" {
		r.Header.Set(RegionHeader, c.Region)
	}
	h := cmp.Or(c.HTTP, http.DefaultClient)
	answer, err := h.Do(r)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("no server answers at %s: start one with 'muster local' or 'muster serve', or name yours with --endpoint or MUSTER_ENDPOINT: %w", c.Endpoint, err)
	}
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusNoContent {
		defer answer.Body.Close()
		return nil, refusal(answer)
	}
	return answer, nil
}

// sign adds an AWS Signature Version 4 for the service gamelift, which covers the body.
// Each request gets a new signer, because a signer caches the first secret it sees of a key.
func (c *Client) sign(r *http.Request, body []byte, now time.Time) error {
	hash := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(r.Context(), c.Credentials, r, hex.EncodeToString(hash[:]), "gamelift", cmp.Or(c.Region, "us-east-1"), now)
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
		Problem string `json:"code"` // of the player API (RFC 9457), with detail
		Detail  string `json:"detail"`
	}
	if json.Unmarshal(text, &body) != nil {
		body.Message = strings.TrimSpace(string(text))
	}
	e.Code = plain.Line(cmp.Or(body.Type[strings.LastIndex(body.Type, "#")+1:], body.Problem))
	e.Message = plain.Line(cmp.Or(body.Message, body.Detail))
	return e
}
