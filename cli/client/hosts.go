package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
)

// Host is a machine that has joined, with its agent's last report.
type Host = protocol.Host

// JoinTokenInput describes a new join token; zero fields mean the server's defaults.
type JoinTokenInput struct {
	Name, Location string
	Life           time.Duration
	Uses           int
	Networks       []string
}

// CreateJoinToken creates a token with which machines can join.
func (c *Client) CreateJoinToken(ctx context.Context, in JoinTokenInput) (t protocol.JoinToken, err error) {
	q := url.Values{"location": {in.Location}, "name": {in.Name}, "cidr": {strings.Join(in.Networks, ",")}}
	if in.Life != 0 {
		q.Set("life", in.Life.String())
	}
	if in.Uses != 0 {
		q.Set("uses", strconv.Itoa(in.Uses))
	}
	return t, c.change(ctx, http.MethodPost, protocol.PathTokens+"?"+q.Encode(), nil, &t)
}

// JoinTokens returns all join tokens that have not expired.
func (c *Client) JoinTokens(ctx context.Context) (all []protocol.JoinToken, err error) {
	_, err = c.read(ctx, protocol.PathTokens, &all)
	return all, err
}

// RevokeJoinToken revokes a join token.
func (c *Client) RevokeJoinToken(ctx context.Context, id string) error {
	return c.change(ctx, http.MethodDelete, protocol.PathTokens+"/"+url.PathEscape(id), nil, nil)
}

// Hosts are the machines that have joined.
type Hosts struct{ client *Client }

// Hosts returns the calls about machines that have joined.
func (c *Client) Hosts() Hosts { return Hosts{c} }

// List returns all hosts.
func (h Hosts) List(ctx context.Context) (all []Host, err error) {
	_, err = h.client.read(ctx, protocol.PathHosts, &all)
	return all, err
}

// Get returns one host.
func (h Hosts) Get(ctx context.Context, id string) (one Host, err error) {
	_, err = h.client.read(ctx, protocol.PathHosts+"/"+url.PathEscape(id), &one)
	return one, err
}

// Shortages returns the instances that no host has room for.
func (h Hosts) Shortages(ctx context.Context) (all []protocol.Shortage, err error) {
	_, err = h.client.read(ctx, protocol.PathShortages, &all)
	return all, err
}

// Drain drains a host: it gets no new instances, and each that it has ends after
// its last game session.
func (h Hosts) Drain(ctx context.Context, id string) (Host, error) {
	return h.change(ctx, id, "drain")
}

// Resume makes a drained host available for instances again.
func (h Hosts) Resume(ctx context.Context, id string) (Host, error) {
	return h.change(ctx, id, "resume")
}

// Rotate issues a new credential to a host's agent.
func (h Hosts) Rotate(ctx context.Context, id string) (Host, error) {
	return h.change(ctx, id, "rotate")
}

func (h Hosts) change(ctx context.Context, id, change string) (one Host, err error) {
	err = h.client.change(ctx, http.MethodPost, protocol.PathHosts+"/"+url.PathEscape(id)+"/"+change, nil, &one)
	return one, err
}

// Remove removes a host; with now it does not wait for game servers to end. It
// reports whether the host is already gone.
func (h Hosts) Remove(ctx context.Context, id string, now bool) (gone bool, err error) {
	var answer protocol.Removal
	err = h.client.change(ctx, http.MethodDelete, protocol.PathHosts+"/"+url.PathEscape(id)+"?now="+strconv.FormatBool(now), nil, &answer)
	return answer.Gone, err
}

// Authority returns the certificate, in PEM, of the authority for certificates of game servers.
func (c *Client) Authority(ctx context.Context) ([]byte, error) {
	return c.read(ctx, protocol.PathCA, nil)
}
