package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// JoinToken lets one machine join a location, once.
type JoinToken struct {
	Token    string
	Location string
	Expires  time.Time
}

// Host is a machine that has joined, and what its agent said last.
type Host struct {
	HostID, Name, Location, IPAddress          string
	Connected                                  bool
	CPUMillis, MemoryMiB, Instances, Processes int
	Resources                                  struct {
		CPUMillisUsed, MemoryMiB, MemoryUsedMiB int
		DiskMiB, DiskFreeMiB                    int64
		DiskFull                                bool
	}
}

// CreateJoinToken makes a token for a location, "" for the server's region; life
// 0 means the server's default.
func (c *Client) CreateJoinToken(ctx context.Context, location string, life time.Duration) (t JoinToken, err error) {
	q := url.Values{"location": {location}}
	if life > 0 {
		q.Set("life", life.String())
	}
	target := strings.TrimRight(c.Endpoint, "/") + "/agent/v1/tokens?" + q.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, nil)
	if err != nil {
		return t, err
	}
	answer, err := c.do(r, nil)
	if err != nil {
		return t, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&t); err != nil {
		return t, fmt.Errorf("decode join token: %w", err)
	}
	return t, nil
}

// Hosts asks for every host.
func (c *Client) Hosts(ctx context.Context) (all []Host, err error) {
	_, err = c.read(ctx, "/agent/v1/hosts", &all)
	return all, err
}
