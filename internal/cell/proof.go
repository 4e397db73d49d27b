package cell

import (
	"crypto/hmac"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// forwardedFor is the header that carries the client's address from node to node: a
// proof that a node wrote it, the time in milliseconds, and the address, separated by
// spaces.
const forwardedFor = "Muster-Forwarded-For"

// proofLife is how far a proof's time may be from the time it is read. For that long,
// anyone who could read it can send it again for the same method and path.
const proofLife = 30 * time.Second

// prove returns the value of forwardedFor for a request.
func prove(secret []byte, r *http.Request, address string, now time.Time) string {
	at := strconv.FormatInt(now.UnixMilli(), 10)
	return hex.EncodeToString(proof(secret, r, at, address)) + " " + at + " " + address
}

// proved returns the address in a request's forwardedFor, if a node recently wrote it
// for this request.
func proved(secret []byte, r *http.Request, now time.Time) (address string, ok bool) {
	shown, rest, _ := strings.Cut(r.Header.Get(forwardedFor), " ")
	at, address, ok := strings.Cut(rest, " ")
	given, err := hex.DecodeString(shown)
	if !ok || err != nil || !hmac.Equal(given, proof(secret, r, at, address)) {
		return "", false
	}
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.UnixMilli(ms)).Abs() > proofLife {
		return "", false
	}
	return address, true
}

// proof returns a MAC of the header's content. Only the last part may contain spaces.
func proof(secret []byte, r *http.Request, at, address string) []byte {
	return mac(secret, fmt.Sprintf("forward v2 %s %s %s %s", r.Method, r.URL.EscapedPath(), at, address))
}
