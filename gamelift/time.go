package gamelift

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// Time is a timestamp on the wire: seconds since 1970 as a number, with a precision of
// one millisecond. JSON has at most three decimals; CBOR has tag 1 around an integer, or
// around a float64 if there are milliseconds. Smaller fractions are truncated when
// writing and rounded when reading.
type Time struct{ time.Time }

// maxSeconds keeps times within what every client can represent (year 9999).
const maxSeconds = 253402300799

// At returns the wire form of t.
func At(t time.Time) *Time { return &Time{t} }

// MaybeAt returns the wire form of t, or nil if t is the zero time.
func MaybeAt(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return At(t)
}

// Or returns the time, or fallback if t is nil.
func (t *Time) Or(fallback time.Time) time.Time {
	if t == nil {
		return fallback
	}
	return t.Time
}

// appendJSON appends the number: 1469498468.057.
func (t Time) appendJSON(b []byte) []byte {
	ms := t.UnixMilli()
	if ms%1000 == 0 {
		return strconv.AppendInt(b, ms/1000, 10)
	}
	return strconv.AppendFloat(b, float64(ms)/1000, 'f', -1, 64)
}

// MarshalJSON writes the number of seconds.
func (t Time) MarshalJSON() ([]byte, error) { return t.appendJSON(nil), nil }

// MarshalJSONTo writes the number of seconds without allocating.
func (t Time) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(t.appendJSON(enc.AvailableBuffer()))
}

// UnmarshalJSON reads a number of seconds.
func (t *Time) UnmarshalJSON(b []byte) error {
	seconds, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("a timestamp is a number of seconds since 1970")
	}
	return t.set(seconds)
}

// MarshalCBOR writes tag 1 around the number of seconds.
func (t Time) MarshalCBOR() ([]byte, error) {
	ms := t.UnixMilli()
	if ms%1000 == 0 {
		return cbor.Marshal(cbor.Tag{Number: 1, Content: ms / 1000})
	}
	return cbor.Marshal(cbor.Tag{Number: 1, Content: float64(ms) / 1000})
}

// UnmarshalCBOR reads tag 1 around a number of seconds, of any width.
func (t *Time) UnmarshalCBOR(b []byte) error {
	var tag cbor.RawTag
	if err := cbor.Unmarshal(b, &tag); err != nil || tag.Number != 1 {
		return fmt.Errorf("a timestamp is tag 1 around a number of seconds since 1970")
	}
	var seconds float64
	if err := cbor.Unmarshal(tag.Content, &seconds); err != nil {
		return fmt.Errorf("a timestamp is tag 1 around a number of seconds since 1970")
	}
	return t.set(seconds)
}

// set sets a number of seconds, rounded to the millisecond: floats are inexact below
// that.
func (t *Time) set(seconds float64) error {
	if math.IsNaN(seconds) || math.Abs(seconds) > maxSeconds {
		return fmt.Errorf("a timestamp lies between year 1 and 9999")
	}
	t.Time = time.UnixMilli(int64(math.Round(seconds * 1000))).UTC()
	return nil
}
