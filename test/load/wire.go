package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/fxamacker/cbor/v2"
)

// codec is one of the two wire protocols, as a client uses it.
type codec struct {
	name   string
	encode func(any) ([]byte, error)
	decode func([]byte, any) error
	path   func(operation string) string
	header func(operation string) http.Header
}

var (
	jsonCodec = codec{
		name: "HTTP, JSON 1.1", encode: json.Marshal, decode: json.Unmarshal,
		path: func(string) string { return "/" },
		header: func(operation string) http.Header {
			return http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"GameLift." + operation}}
		},
	}
	cborCodec = codec{
		name: "HTTP, CBOR", encode: cbor.Marshal, decode: cbor.Unmarshal,
		path: func(operation string) string { return "/service/GameLift/operation/" + operation },
		header: func(string) http.Header {
			return http.Header{"Content-Type": {"application/cbor"}, "Smithy-Protocol": {"rpc-v2-cbor"}}
		},
	}
)

// signed returns the bytes of a signed request. Requests are prepared before the
// clock starts, so that the load uses little of the machine it shares.
func (c codec) signed(ctx context.Context, h *house, operation string, in any) ([]byte, error) {
	body, err := c.encode(in)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+h.address+c.path(operation), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = c.header(operation)
	hash := sha256.Sum256(body)
	who := aws.Credentials{AccessKeyID: h.key.AccessKeyID, SecretAccessKey: h.key.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(ctx, who, r, hex.EncodeToString(hash[:]), "gamelift", "us-east-1", time.Now()); err != nil {
		return nil, err
	}
	var wire bytes.Buffer
	err = r.Write(&wire)
	return wire.Bytes(), err
}

// connections are kept-alive connections to a house, one per caller.
type connections struct {
	address string
	free    chan *connection
}

type connection struct {
	net.Conn
	in *bufio.Reader
}

func dial(address string, n int) (*connections, error) {
	c := &connections{address, make(chan *connection, n)}
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		c.free <- &connection{conn, bufio.NewReader(conn)}
	}
	return c, nil
}

func (c *connections) close() {
	for range cap(c.free) {
		(<-c.free).Close()
	}
}

// send sends a request and returns the body of its answer, whose status must be 200.
func (c *connections) send(request []byte) ([]byte, error) {
	return c.exchange(request, http.StatusOK)
}

// exchange sends a request and returns the body of its answer, whose status must be want.
func (c *connections) exchange(request []byte, want int) ([]byte, error) {
	conn := <-c.free
	defer func() { c.free <- conn }()
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(conn.in, nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return body, err
}
