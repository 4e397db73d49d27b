// Package audit is who asked for what: one record of each request that changes
// something or reads a secret, and of each refusal.
//
// The record of a change is appended in the transaction that makes the change, by
// the store itself (store.OnCause): no door and no operation can forget it, and
// neither is true without the other. Everything else is appended soon after, in
// batches; alike refusals within a minute become one record with a count.
//
// Each record holds the SHA-256 of the one before, and the state holds that of the
// last one: a record that was removed, changed or put in shows (Verify).
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// Record is one request, or several alike that were refused. Members that are not
// known are empty.
type Record struct {
	Time         time.Time `json:"time"`
	Door         string    `json:"door"`   // api, files, console, agent, gameserver, notify, player, admin or offline
	Action       string    `json:"action"` // operation of the API, or an action of package auth
	Resources    []string  `json:"resources,omitempty"`
	KeyID        string    `json:"key_id,omitempty"`
	KeyName      string    `json:"key_name,omitempty"`
	Role         string    `json:"role,omitempty"`
	ClaimedKeyID string    `json:"claimed_key_id,omitempty"` // of a signature that was not good
	Source       string    `json:"source,omitempty"`         // address, behind proxies that are trusted
	UserAgent    string    `json:"user_agent,omitempty"`
	RequestID    string    `json:"request_id,omitempty"`
	Outcome      string    `json:"outcome"`         // "ok", or the code of the error
	Count        int       `json:"count,omitempty"` // how many requests, where more than one
	Previous     string    `json:"previous"`        // SHA-256 of the record before, in hex
}

// Line is a record as it stands on a line of an export.
type Line struct {
	Seq uint64 `json:"seq"`
	Record
}

// lineBegin is how each Line begins.
const lineBegin = `{"seq":`

// OK is the outcome of a request that was served.
const OK = "ok"

// digest returns the SHA-256 of a record with its number, in hex: what the next
// record holds as Previous.
func digest(seq uint64, r *Record) string {
	doc, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("audit: a record does not encode: %v", err)) // its texts are valid UTF-8
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", seq)
	h.Write(doc)
	return hex.EncodeToString(h.Sum(nil))
}
