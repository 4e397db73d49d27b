package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// JoinToken lets machines join a location. Only CreateJoinToken returns the token
// itself.
type JoinToken struct {
	TokenID  string
	Token    string `json:",omitempty"`
	Name     string `json:",omitempty"`
	Location string
	Networks []string `json:",omitempty"`
	MaxUses  int
	Uses     int
	Created  time.Time
	Expires  time.Time
	LastUsed time.Time `json:",omitzero"`
}

// Host is a machine that has joined, with its agent's last report.
type Host struct {
	HostID, Name, Location, IPAddress          string
	DNSName                                    string `json:",omitempty"`
	OS, Arch, Version, Isolation               string
	Connected, Draining, Removing              bool
	Joined                                     time.Time
	JoinToken                                  string `json:",omitempty"`
	SecretSince                                time.Time
	Rotating                                   bool
	CPUMillis, MemoryMiB, Instances, Processes int
	Resources                                  struct {
		CPUMillisUsed, MemoryMiB, MemoryUsedMiB int
		DiskMiB, DiskFreeMiB                    int64
		DiskFull                                bool
	}
	Instance []HostInstance `json:",omitempty"`
}

// HostInstance is an instance as its host's agent last reported it.
type HostInstance struct {
	InstanceID, Phase string
	Code, Cause       string `json:",omitempty"`
	Processes         []HostProcess
}

// HostProcess is a game server process that runs on a host.
type HostProcess struct {
	ProcessID string
	PID, Port int
	Started   time.Time
}

// JoinTokenInput describes a new join token; zero fields mean the server's defaults.
type JoinTokenInput struct {
	Name, Location string
	Life           time.Duration
	Uses           int
	Networks       []string
}

// The operators' paths of the hosts' door.
const (
	pathTokens    = "/agent/v1/tokens"
	pathHosts     = "/agent/v1/hosts"
	pathShortages = "/agent/v1/shortages"
)

// CreateJoinToken creates a token with which machines can join.
func (c *Client) CreateJoinToken(ctx context.Context, in JoinTokenInput) (t JoinToken, err error) {
	q := url.Values{}
	for name, value := range map[string]string{"location": in.Location, "name": in.Name, "cidr": strings.Join(in.Networks, ",")} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if in.Life != 0 {
		q.Set("life", in.Life.String())
	}
	if in.Uses != 0 {
		q.Set("uses", strconv.Itoa(in.Uses))
	}
	return t, c.change(ctx, http.MethodPost, pathTokens, q, &t)
}

// JoinTokens returns all join tokens that have not expired.
func (c *Client) JoinTokens(ctx context.Context) (all []JoinToken, err error) {
	_, err = c.read(ctx, pathTokens, &all)
	return all, err
}

// RevokeJoinToken revokes a join token.
func (c *Client) RevokeJoinToken(ctx context.Context, id string) error {
	return c.change(ctx, http.MethodDelete, pathTokens+"/"+url.PathEscape(id), nil, &struct{}{})
}

// Hosts returns all hosts.
func (c *Client) Hosts(ctx context.Context) (all []Host, err error) {
	_, err = c.read(ctx, pathHosts, &all)
	return all, err
}

// Host returns one host.
func (c *Client) Host(ctx context.Context, id string) (h Host, err error) {
	_, err = c.read(ctx, pathHosts+"/"+url.PathEscape(id), &h)
	return h, err
}

// Shortage is a number of instances that a fleet desires in a location and that no host
// has room for.
type Shortage struct {
	FleetID, Location    string
	Missing              int
	OS                   string
	CPUMillis, MemoryMiB int // of one instance, like Ports
	Ports                int
	Why                  string
}

// Shortages returns the instances that no host has room for.
func (c *Client) Shortages(ctx context.Context) (all []Shortage, err error) {
	_, err = c.read(ctx, pathShortages, &all)
	return all, err
}

// DrainHost drains a host: it gets no new instances, and each that it has ends after
// its last game session.
func (c *Client) DrainHost(ctx context.Context, id string) (Host, error) {
	return c.changeHost(ctx, id, "drain")
}

// ResumeHost makes a drained host available for instances again.
func (c *Client) ResumeHost(ctx context.Context, id string) (Host, error) {
	return c.changeHost(ctx, id, "resume")
}

// RotateHost issues a new credential to a host's agent.
func (c *Client) RotateHost(ctx context.Context, id string) (Host, error) {
	return c.changeHost(ctx, id, "rotate")
}

func (c *Client) changeHost(ctx context.Context, id, change string) (h Host, err error) {
	return h, c.change(ctx, http.MethodPost, pathHosts+"/"+url.PathEscape(id)+"/"+change, nil, &h)
}

// RemoveHost removes a host; with now it does not wait for game servers to end. It
// reports whether the host is already gone.
func (c *Client) RemoveHost(ctx context.Context, id string, now bool) (gone bool, err error) {
	q := url.Values{}
	if now {
		q.Set("now", "true")
	}
	var answer struct{ Gone bool }
	err = c.change(ctx, http.MethodDelete, pathHosts+"/"+url.PathEscape(id), q, &answer)
	return answer.Gone, err
}

// change sends a request without a body and decodes the response into out.
func (c *Client) change(ctx context.Context, method, path string, q url.Values, out any) error {
	target := strings.TrimRight(c.Endpoint, "/") + path
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return err
	}
	answer, err := c.do(r, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("decode answer of %s %s: %w", method, path, err)
	}
	return nil
}
