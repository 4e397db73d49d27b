package awsrpc

import (
	"bytes"
	"errors"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/musterhq/muster/internal/fault"
)

// cborCodec is the Smithy RPC v2 CBOR protocol.
type cborCodec struct {
	namespace string // before the # of a modelled error's type
	enc       cbor.UserBufferEncMode
	dec       cbor.DecMode
}

func newCBORCodec(namespace string) (*cborCodec, error) {
	enc, err := cbor.EncOptions{}.UserBufferEncMode()
	if err != nil {
		return nil, err
	}
	dec, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		MaxNestedLevels:   maxDepth,
		MaxArrayElements:  maxElements,
		MaxMapPairs:       maxElements,
	}.DecMode()
	if err != nil {
		return nil, err
	}
	return &cborCodec{namespace: namespace, enc: enc, dec: dec}, nil
}

func (*cborCodec) name() string        { return "cbor" }
func (*cborCodec) contentType() string { return "application/cbor" }

func (*cborCodec) accepts(contentType string) error {
	return acceptsType(contentType, "application/cbor")
}

// errorType adds the namespace to modelled errors only: the Go SDK compares other
// codes, such as ThrottlingException, verbatim.
func (c *cborCodec) errorType(code string, modelled bool) string {
	if !modelled {
		return code
	}
	return c.namespace + "#" + code
}

func (c *cborCodec) encode(buf *bytes.Buffer, out any) error {
	return c.enc.MarshalToBuffer(out, buf)
}

func (c *cborCodec) decode(body []byte, in any) error {
	if len(body) == 0 {
		return nil
	}
	err := c.dec.Unmarshal(body, in)
	if err == nil {
		return nil
	}
	if t, ok := errors.AsType[*cbor.UnmarshalTypeError](err); ok && t.GoType != "" {
		return fault.New(fault.Serialization, "%s: cannot be a CBOR %s", cborMember(t.StructFieldName), t.CBORType)
	}
	return fault.New(fault.Serialization, "malformed CBOR: %s", strings.TrimPrefix(err.Error(), "cbor: "))
}

// cborMember returns the member's name in a path: PlayerId for
// gamelift.Player.PlayerId.
func cborMember(field string) string {
	if field == "" {
		return "body"
	}
	return field[strings.LastIndexByte(field, '.')+1:]
}

// timestamp is implemented by the Go type of a shape.Timestamp.
type timestamp interface {
	cbor.Marshaler
	UnixMilli() int64
}
