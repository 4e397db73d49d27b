// Package audit records who requested what: one record for each request that changes
// something or reads a secret, and for each refusal.
//
// The record of a change is appended in the transaction that makes the change, by the
// store itself (store.OnCause): no door and no operation can omit it, and neither
// exists without the other. Other records are appended shortly after, in batches;
// refusals that are alike become one record per minute with a count.
//
// Each record contains the SHA-256 hash of the one before, and the state has that of
// the last one: a record that was removed, changed or inserted is detected (Verify).
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// Record is one request, or several alike that were refused. Unknown members are empty.
type Record struct {
	Time         time.Time `json:"time"`
	Door         string    `json:"door"`   // api, files, console, agent, gameserver, notify, player, admin or offline
	Action       string    `json:"action"` // operation of the API, or an action of package auth
	Resources    []string  `json:"resources,omitempty"`
	KeyID        string    `json:"key_id,omitempty"`
	KeyName      string    `json:"key_name,omitempty"`
	Role         string    `json:"role,omitempty"`
	ClaimedKeyID string    `json:"claimed_key_id,omitempty"` // of a signature that was not valid
	Source       string    `json:"source,omitempty"`         // address of the client, taken from trusted proxies
	UserAgent    string    `json:"user_agent,omitempty"`
	RequestID    string    `json:"request_id,omitempty"`
	Outcome      string    `json:"outcome"`         // "ok", or the code of the error
	Count        int       `json:"count,omitempty"` // number of requests, if more than one
	Previous     string    `json:"previous"`        // SHA-256 of the previous record, in hex
}

// Line is a record as written on a line of an export.
type Line struct {
	Seq uint64 `json:"seq"`
	Record
}

// lineBegin is how each Line begins.
const lineBegin = `{"seq":`

// OK is the outcome of a request that was served.
const OK = "ok"

// digest returns the SHA-256 of a record with its number, in hex: the Previous of the
// next record.
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
