package beacon

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// The exchange that produces a receipt, in datagrams. The client pads its own so that
// no answer is longer than the datagram it answers:
//
//	client → beacon   GLB1 nonce(8) padding             (64 bytes at least)
//	beacon → client   GLB2 nonce(8) time(8) mac(16)
//	client → beacon   GLB3 nonce(8) time(8) mac(16) padding (300 bytes)
//	beacon → client   GLB4 nonce(8) receipt
//
// The beacon keeps no state in between: its own time comes back to it under a MAC
// that also covers the nonce and the client's address.
const (
	nonceSize   = 8
	stampSize   = 8
	macSize     = 16
	minAsk      = 64
	receiptLife = 15 * time.Minute
	maxRTT      = 5 * time.Second // a longer exchange was interrupted
)

// Receipt is a beacon's measurement of a client.
type Receipt struct {
	Location string
	RTT      int // milliseconds, rounded up, at least 1
	Expires  time.Time
}

// Receipts issues and checks receipts.
type Receipts struct{ key []byte }

// NewReceipts returns a Receipts with the key that beacons and those who check
// receipts share.
func NewReceipts(key []byte) *Receipts { return &Receipts{key} }

// leastKey is the shortest key, in bytes.
const leastKey = 16

// ReadKey parses the content of a key file: text of at least 16 bytes, not counting
// white space around it.
func ReadKey(text []byte) ([]byte, error) {
	key := bytes.TrimSpace(text)
	if len(key) < leastKey {
		return nil, fmt.Errorf("the key has %d bytes; it must have at least %d", len(key), leastKey)
	}
	return key, nil
}

// ErrReceipt is what Check returns for an invalid receipt.
var ErrReceipt = errors.New("the receipt is forged, expired, or another client's")

// Check parses and verifies the receipt of a client at an address. Errors:
// ErrReceipt.
func (r *Receipts) Check(text string, from netip.Addr, now time.Time) (Receipt, error) {
	at := strings.LastIndexByte(text, '.')
	if at < 0 || len(text) > MaxDatagram {
		return Receipt{}, ErrReceipt
	}
	mac, err := base64.RawURLEncoding.DecodeString(text[at+1:])
	if !hmac.Equal(mac, r.mac("receipt", []byte(text[:at]))) || err != nil {
		return Receipt{}, ErrReceipt
	}
	parts := strings.Split(text[:at], ".")
	if len(parts) != 4 || parts[2] != r.hide(from) {
		return Receipt{}, ErrReceipt
	}
	rtt, err1 := strconv.Atoi(parts[1])
	expires, err2 := strconv.ParseInt(parts[3], 10, 64)
	if err1 != nil || err2 != nil || now.Unix() > expires {
		return Receipt{}, ErrReceipt
	}
	return Receipt{Location: parts[0], RTT: rtt, Expires: time.Unix(expires, 0)}, nil
}

// issue returns a receipt: LOCATION.MILLISECONDS.CLIENT.EXPIRES.MAC.
func (r *Receipts) issue(location string, rtt time.Duration, from netip.Addr, now time.Time) string {
	ms := max(1, int(math.Ceil(float64(rtt)/float64(time.Millisecond))))
	body := strings.Join([]string{location, strconv.Itoa(ms), r.hide(from), strconv.FormatInt(now.Add(receiptLife).Unix(), 10)}, ".")
	return body + "." + base64.RawURLEncoding.EncodeToString(r.mac("receipt", []byte(body)))
}

// answer is the beacon's side of the exchange; ours is false for other datagrams.
func (r *Receipts) answer(out, in []byte, location string, from netip.Addr, now time.Time) (answer []byte, ours bool) {
	switch {
	case len(in) >= minAsk && string(in[:4]) == "GLB1":
		out = append(append(out[:0], "GLB2"...), in[4:4+nonceSize]...)
		out = binary.BigEndian.AppendUint64(out, uint64(now.UnixNano()))
		return append(out, r.stamp(out[4:], location, from)...), true
	case len(in) >= 4 && string(in[:4]) == "GLB3":
		const body = nonceSize + stampSize
		if len(in) < 4+body+macSize || !hmac.Equal(in[4+body:4+body+macSize], r.stamp(in[4:4+body], location, from)) {
			return nil, true
		}
		rtt, ok := since(in[4+nonceSize:], now)
		if !ok {
			return nil, true
		}
		out = append(append(out[:0], "GLB4"...), in[4:4+nonceSize]...)
		out = append(out, r.issue(location, rtt, from, now)...)
		if len(out) > len(in) {
			return nil, true
		}
		return out, true
	}
	return nil, false
}

// since returns the time that has passed since a stamp's time, and whether it is a round
// trip's.
func since(stamp []byte, now time.Time) (rtt time.Duration, ok bool) {
	rtt = now.Sub(time.Unix(0, int64(binary.BigEndian.Uint64(stamp))))
	return rtt, rtt >= 0 && rtt <= maxRTT
}

// stamp returns the MAC over the client's address, nonce and time, and the location: the stamp
// of another beacon would make the round trip shorter.
func (r *Receipts) stamp(body []byte, location string, from netip.Addr) []byte {
	address := from.Unmap().As16()
	return r.mac("stamp", append(append(address[:], body...), location...))
}

func (r *Receipts) mac(purpose string, body []byte) []byte {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(purpose + "\x00"))
	mac.Write(body)
	return mac.Sum(nil)[:macSize]
}

// hide returns a pseudonym of an address's network, since a client's address may
// change within it.
func (r *Receipts) hide(from netip.Addr) string {
	from = from.Unmap()
	bits := 32
	if from.Is6() {
		bits = 64
	}
	network, err := from.Prefix(bits)
	if err != nil {
		return ""
	}
	return hex.EncodeToString(r.mac("address", []byte(network.String()))[:8])
}
