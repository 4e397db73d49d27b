package gamelift_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	jsonv2 "github.com/go-json-experiment/json"

	"github.com/musterhq/muster/gamelift"
)

func TestTime_WireForms(t *testing.T) {
	for _, c := range []struct {
		ns         int64 // since 1970
		json, cbor string
		back       int64 // milliseconds
	}{
		{1469498468057000000, "1469498468.057", "c1fb41d5e5b11903a5e3", 1469498468057},
		{1469498468000000000, "1469498468", "c11a5796c464", 1469498468000},
		{1469498468057999999, "1469498468.057", "c1fb41d5e5b11903a5e3", 1469498468057}, // below the millisecond: truncated
		{0, "0", "c100", 0},
		{-1500000000, "-1.5", "c1fbbff8000000000000", -1500},
	} {
		in := gamelift.At(time.Unix(0, c.ns))
		v1, err1 := json.Marshal(in)
		v2, err2 := jsonv2.Marshal(in)
		bin, err3 := cbor.Marshal(in)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		if string(v1) != c.json || string(v2) != c.json || hex.EncodeToString(bin) != c.cbor {
			t.Errorf("%d: JSON %s and %s, CBOR %x, want %s, %s", c.ns, v1, v2, bin, c.json, c.cbor)
		}
		var fromJSON, fromCBOR gamelift.Time
		if err := jsonv2.Unmarshal(v2, &fromJSON); err != nil {
			t.Error(err)
		}
		if err := cbor.Unmarshal(bin, &fromCBOR); err != nil {
			t.Error(err)
		}
		if fromJSON.UnixMilli() != c.back || fromCBOR.UnixMilli() != c.back || fromCBOR.Nanosecond()%1e6 != 0 {
			t.Errorf("%d: back as %v and %v", c.ns, fromJSON, fromCBOR)
		}
	}
}

func TestTime_Refusals(t *testing.T) {
	for _, text := range []string{`"2020-01-01T00:00:00Z"`, `1e300`, `{}`, `true`, `"5"`} {
		if err := jsonv2.Unmarshal([]byte(text), new(gamelift.Time)); err == nil {
			t.Errorf("JSON %s: accepted", text)
		}
	}
	for _, text := range []string{"1a5796c464", "c0d8201974", "c161" + "35", "c1fb7ff8000000000000", "c1fb7ff0000000000000", "c1fb7e37e43c8800759c"} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := cbor.Unmarshal(raw, new(gamelift.Time)); err == nil {
			t.Errorf("CBOR %s: accepted", text)
		}
	}
}

func TestTime_Absent(t *testing.T) {
	if gamelift.MaybeAt(time.Time{}) != nil {
		t.Error("the zero time is sent")
	}
	now := time.Now()
	if got := (*gamelift.Time)(nil).Or(now); !got.Equal(now) {
		t.Errorf("absent is %v, want the fallback", got)
	}
	if got := gamelift.At(now).Or(time.Time{}); !got.Equal(now) {
		t.Errorf("present is %v", got)
	}
	var in gamelift.DescribeFleetEventsInput
	if err := jsonv2.Unmarshal([]byte(`{"StartTime":null}`), &in); err != nil || in.StartTime != nil {
		t.Errorf("null is %v, %v", in.StartTime, err)
	}
	if err := cbor.Unmarshal([]byte("\xa1iStartTime\xf6"), &in); err != nil || in.StartTime != nil {
		t.Errorf("CBOR null is %v, %v", in.StartTime, err)
	}
}
