package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/nearest"
)

// leastShort is how many characters a part of an id has at least that stands for it.
const leastShort = 4

// pick returns the one of all that text stands for: by its id or ARN, its name, or, if no
// other one fits, the beginning or the end of its id. where is the command that lists all.
func pick[T any](kind, where, text string, all []T, id, name func(T) string) (T, error) {
	var none T
	short := text[strings.LastIndex(text, "/")+1:]
	tests := []func(T) bool{
		func(v T) bool { return id(v) == short },
		func(v T) bool { return name(v) == text },
		func(v T) bool {
			_, random, _ := strings.Cut(id(v), "-")
			return len(text) >= leastShort && (strings.HasPrefix(id(v), text) || strings.HasPrefix(random, text) || strings.HasSuffix(id(v), text))
		},
	}
	for _, fits := range tests {
		var found []T
		for _, v := range all {
			if fits(v) {
				found = append(found, v)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		var ids []string
		for _, v := range found {
			ids = append(ids, id(v))
		}
		return none, fmt.Errorf("%q stands for several %ss: %s; name one by its id", text, kind, strings.Join(ids[:min(len(ids), 5)], ", "))
	}
	var names []string
	for _, v := range all {
		names = append(names, id(v))
		if name(v) != "" {
			names = append(names, name(v))
		}
	}
	return none, fmt.Errorf("there is no %s %q%s; '%s' lists them", kind, text, nearest.DidYouMean(text, names), where)
}

// FindFleet returns the fleet that text stands for: its id, ARN, name, or an unambiguous
// beginning or end of its id.
func (c *Client) FindFleet(ctx context.Context, text string) (Fleet, error) {
	all, err := c.Fleets(ctx)
	if err != nil {
		return Fleet{}, err
	}
	return pick("fleet", "muster fleets", text, all, func(f Fleet) string { return f.ID }, func(f Fleet) string { return f.Name })
}

// whole reports whether text is a whole id, which needs no look at all others: a key may be
// held to one resource.
func whole(text, prefix string) bool {
	return strings.HasPrefix(text, prefix) && len(text) == len(prefix)+len("00000000-0000-0000-0000-000000000000")
}

// FindHostID returns the id of the host that text stands for, as FindFleet does for fleets.
func (c *Client) FindHostID(ctx context.Context, text string) (string, error) {
	if whole(text, "host-") {
		return text, nil
	}
	h, err := c.FindHost(ctx, text)
	return h.HostID, err
}

// FindFleetID is like FindFleet, and returns an id or an ARN as it is.
func (c *Client) FindFleetID(ctx context.Context, text string) (string, error) {
	if whole(text, "fleet-") || strings.HasPrefix(text, "arn:") {
		return text, nil
	}
	f, err := c.FindFleet(ctx, text)
	return f.ID, err
}

// FindHost is like FindFleet for hosts.
func (c *Client) FindHost(ctx context.Context, text string) (Host, error) {
	all, err := c.Hosts(ctx)
	if err != nil {
		return Host{}, err
	}
	return pick("host", "muster hosts", text, all, func(h Host) string { return h.HostID }, func(h Host) string { return h.Name })
}
