package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/musterhq/muster/test/node"
)

// protocol creates requests of one of the two wire protocols.
type protocol struct {
	name    string
	request func(url, operation string, body []byte) (*http.Request, error)
	encode  func(any) ([]byte, error)
	decode  func([]byte, any) error
}

var protocols = []protocol{
	{"json", jsonRequest, json.Marshal, json.Unmarshal},
	{"cbor", cborRequest, cbor.Marshal, cbor.Unmarshal},
}

func jsonRequest(url, operation string, body []byte) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, url+"/", bytes.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
		r.Header.Set("X-Amz-Target", "GameLift."+operation)
	}
	return r, err
}

func cborRequest(url, operation string, body []byte) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, url+"/service/GameLift/operation/"+operation, bytes.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/cbor")
		r.Header.Set("Accept", "application/cbor")
		r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
	}
	return r, err
}

// call sends an input and returns the answer.
func (p protocol) call(t testing.TB, url, operation string, in any) answer {
	t.Helper()
	body, ok := in.([]byte)
	if !ok {
		var err error
		if body, err = p.encode(in); err != nil {
			t.Fatal(err)
		}
	}
	r := node.Must(p.request(url, operation, body))(t)
	return do(t, r)
}

// Every refusal has the same envelope: a type, and the text under both names that
// clients look for. The type is qualified only if the operation models it (Go's SDK
// compares others literally).
func TestEnvelope(t *testing.T) {
	t.Parallel()
	url := node.InProcess(t, nil).URL()
	for _, p := range protocols {
		for _, c := range []struct {
			name, operation string
			in              any
			status          int
			code, text      string
			modelled        bool
		}{
			{"constraint", "DescribeAlias", map[string]any{}, 400, "InvalidRequestException", "'aliasId'", true},
			{"unknown operation", "DescribeNothing", map[string]any{}, 0, "UnknownOperationException", "DescribeNothing", false},
			{"malformed", "DescribeAlias", []byte{0x7b, 0xff, 0x01}, 400, "SerializationException", "", false},
			{"wrong type", "DescribeAlias", map[string]any{"AliasId": 5}, 400, "SerializationException", "AliasId", false},
			{"too large", "DescribeAlias", bytes.Repeat([]byte{' '}, 32<<20), 0, "RequestEntityTooLargeException", "body", false},
		} {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				a := p.call(t, url, c.operation, c.in)
				if c.status != 0 && a.status != c.status || a.status < 400 || a.status >= 500 {
					t.Errorf("status %d", a.status)
				}
				if err := p.envelope(a, c.code, c.text, c.modelled); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// envelope returns what is wrong with the answer of a refusal: its type is to be code, which the
// operation may model, and text a part of what it says.
func (p protocol) envelope(a answer, code, text string, modelled bool) error {
	var body map[string]string
	if err := p.decode(a.body, &body); err != nil {
		return fmt.Errorf("body %q: %w", a.body, err)
	}
	if want := map[string]string{"json": "", "cbor": "rpc-v2-cbor"}[p.name]; a.header.Get("Smithy-Protocol") != want {
		return fmt.Errorf("smithy-protocol %q, want %q", a.header.Get("Smithy-Protocol"), want)
	}
	if len(a.header.Get("X-Amzn-Requestid")) != 36 {
		return fmt.Errorf("request id %q", a.header.Get("X-Amzn-Requestid"))
	}
	if modelled && p.name == "cbor" {
		code = "com.amazonaws.gamelift#" + code
	}
	if body["__type"] != code || body["message"] != body["Message"] || !strings.Contains(body["message"], text) || body["message"] == "" || len(body) != 3 {
		return fmt.Errorf("envelope %v, want the type %s and a text with %q, twice", body, code, text)
	}
	return nil
}
