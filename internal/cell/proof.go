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

// fromNode is the header by which a node shows that a request is its own, and not one that
// it forwards.
const fromNode = "Muster-From-Node"

// Sign adds to a request without a body the proof that a node of the deployment sends it.
func Sign(secret []byte, r *http.Request, now time.Time) {
	at := strconv.FormatInt(now.UnixMilli(), 10)
	r.Header.Set(fromNode, hex.EncodeToString(ownProof(secret, r, at))+" "+at)
}

// FromNode reports whether a node of the deployment recently sent a request on its own
// account.
func FromNode(secret []byte, r *http.Request, now time.Time) bool {
	shown, at, _ := strings.Cut(r.Header.Get(fromNode), " ")
	given, err := hex.DecodeString(shown)
	if err != nil || !hmac.Equal(given, ownProof(secret, r, at)) {
		return false
	}
	ms, err := strconv.ParseInt(at, 10, 64)
	return err == nil && now.Sub(time.UnixMilli(ms)).Abs() <= proofLife
}

func ownProof(secret []byte, r *http.Request, at string) []byte {
	return mac(secret, fmt.Sprintf("node v1 %s %s?%s %s", r.Method, r.URL.EscapedPath(), r.URL.RawQuery, at))
}

// proof returns a MAC of the header's content. Only the last part may contain spaces.
func proof(secret []byte, r *http.Request, at, address string) []byte {
	return mac(secret, fmt.Sprintf("forward v2 %s %s %s %s", r.Method, r.URL.EscapedPath(), at, address))
}
