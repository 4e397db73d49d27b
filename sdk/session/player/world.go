package player

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/sdk/session"
	"github.com/musterhq/muster/sdk/session/player/protocol"
)

// Location is a place where games can run, and its latency beacons: "" for each kind
// it does not have.
type Location = protocol.Location

// Sample is a latency measured for a location. Omit locations that were not reached:
// an invented figure invites a match there.
type Sample struct {
	Location string
	RTT      time.Duration
	Method   string // udp, tcp or https
	Receipt  string // signed by the beacon, if it issues any
}

// World is what a client needs to know: providers, matchmakers, pools.
type World = protocol.ClientConfig

// World returns what there is to play. It needs no login.
func (c *Client) World(ctx context.Context) (World, error) {
	var out World
	err := c.account.ask(ctx, "/config", &out)
	return out, err
}

// Locations returns where games can run. It needs no login; keep the answer for as
// long as the server says, an hour.
func (c *Client) Locations(ctx context.Context) ([]Location, error) {
	var out protocol.Locations
	err := c.account.ask(ctx, "/locations", &out)
	return out.Locations, err
}

// ReportLatency reports measured latencies; they apply for 15 minutes. It returns
// those that the server accepted: locations without a fleet are dropped, for example.
func (c *Client) ReportLatency(ctx context.Context, samples []Sample) (accepted map[string]time.Duration, err error) {
	in := &protocol.LatencyReport{Samples: []protocol.LatencySample{}}
	for _, s := range samples {
		in.Samples = append(in.Samples, protocol.LatencySample{
			Location: s.Location, RTTMs: float64(s.RTT) / float64(time.Millisecond), Method: protocol.LatencySampleMethod(s.Method), Receipt: s.Receipt,
		})
	}
	var out protocol.LatencyResult
	if err := c.account.call(ctx, call{method: http.MethodPut, path: "/players/me/latency", in: in}, &out); err != nil {
		return nil, err
	}
	accepted = map[string]time.Duration{}
	for where, ms := range out.Accepted {
		accepted[where] = time.Duration(ms) * time.Millisecond
	}
	return accepted, nil
}

// Reservations returns the player's current reservations: the way back into a game
// after a crash.
func (c *Client) Reservations(ctx context.Context) ([]session.Connection, error) {
	var out protocol.Reservations
	if err := c.account.call(ctx, call{method: http.MethodGet, path: "/players/me/reservations"}, &out); err != nil {
		return nil, err
	}
	var all []session.Connection
	for _, r := range out.Items {
		if r.Connection != nil {
			all = append(all, reserved(&r, c.PlayerID()))
		}
	}
	return all, nil
}

// GetData decodes a JSON value of the player's data into v. namespace is private,
// public or server. version is for PutData. Errors: ErrNotFound.
func (c *Client) GetData(ctx context.Context, namespace, key string, v any) (version int64, err error) {
	r := call{method: http.MethodGet, path: dataPath(namespace, key), answered: func(r *http.Response) { version = versionOf(r) }}
	var raw json.RawMessage
	if err := c.account.call(ctx, r, &raw); err != nil {
		return 0, err
	}
	return version, json.Unmarshal(raw, v)
}

// Values for expected, besides a version, of PutData.
const (
	AnyVersion int64 = -1 // any value, or none
	NoVersion  int64 = 0  // no value: the key is new
)

// PutData writes a value as JSON, if the current version is the expected one, and
// returns the new version. namespace is private or public. key has 1 to 64 of a-z A-Z
// 0-9 . _ and -; a value has at most 32 KiB, a namespace at most 100 keys and 256 KiB.
// Errors: ErrConflict if the version is another one, ErrInvalid, ErrUnauthorized (the
// namespace server is read-only).
func (c *Client) PutData(ctx context.Context, namespace, key string, v any, expected int64) (version int64, err error) {
	r := call{method: http.MethodPut, path: dataPath(namespace, key), in: v, header: http.Header{}}
	switch {
	case expected == NoVersion:
		r.header.Set("If-None-Match", "*")
	case expected > NoVersion:
		r.header.Set("If-Match", strconv.Quote(strconv.FormatInt(expected, 10)))
	}
	var out protocol.DataItem
	err = c.account.call(ctx, r, &out)
	return out.Version, err
}

func dataPath(namespace, key string) string {
	return "/players/me/data/" + url.PathEscape(namespace) + "/" + url.PathEscape(key)
}

// versionOf parses the ETag, which proxies that compress make weak.
func versionOf(r *http.Response) int64 {
	text, err := strconv.Unquote(strings.TrimPrefix(r.Header.Get("ETag"), "W/"))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
