package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/musterhq/muster/internal/nearest"
)

// leastShort is how many characters a part of an id has at least that stands for it.
const leastShort = 4

// queuePage is where placements are listed, which no command does.
const queuePage = "the page of its queue in the console"

// pick returns the one of all that text stands for: by its id or ARN, its name, or, if no
// other one fits, the beginning or the end of its id. where is the command that lists all, or
// queuePage.
func pick[T any](kind, where, text string, all []T, id, name func(T) string) (T, error) {
	var none T
	short := text[strings.LastIndex(text, "/")+1:]
	tests := []func(T) bool{
		func(v T) bool { return id(v) == short },
		func(v T) bool { return name(v) == text },
		func(v T) bool { return abbreviates(text, id(v)) },
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
		return none, fmt.Errorf("%q stands for several %s: %s; name one by its id", text, plural(kind), strings.Join(ids[:min(len(ids), 5)], ", "))
	}
	var names []string
	for _, v := range all {
		names = append(names, id(v))
		if name(v) != "" {
			names = append(names, name(v))
		}
	}
	lists := "'" + where + "'"
	if where == queuePage {
		lists = where
	}
	return none, fmt.Errorf("there is no %s %q%s; %s lists them", kind, text, nearest.DidYouMean(text, names), lists)
}

// pickID is pick for what has no name.
func pickID(kind, where, text string, all []string) (string, error) {
	return pick(kind, where, text, all, func(id string) string { return id }, func(string) string { return "" })
}

// missing reports whether a server answered that there is no such thing.
func missing(err error) bool {
	answer, ok := errors.AsType[*Error](err)
	return ok && answer.Status == http.StatusNotFound
}

func plural(kind string) string {
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}

// abbreviates reports whether text is long enough to stand for an id and is its beginning, with
// or without the prefix of its kind, or its end.
func abbreviates(text, id string) bool {
	_, random, _ := strings.Cut(id, "-")
	return len(text) >= leastShort && (strings.HasPrefix(id, text) || strings.HasPrefix(random, text) || strings.HasSuffix(id, text))
}

// FindFleet returns the fleet that text stands for: its id, ARN, name, or an unambiguous
// beginning or end of its id.
func (c *Client) FindFleet(ctx context.Context, text string) (Fleet, error) {
	if wholeFleet(text) {
		return c.fleet(ctx, text)
	}
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

// wholeFleet reports whether text is the whole id of a fleet, or its ARN.
func wholeFleet(text string) bool {
	return whole(text, "fleet-") || whole(text, "containerfleet-") || strings.HasPrefix(text, "arn:")
}

// FindID returns the id of the host that text stands for, as FindFleet does for fleets.
func (h Hosts) FindID(ctx context.Context, text string) (string, error) {
	if whole(text, "host-") {
		return text, nil
	}
	found, err := h.Find(ctx, text)
	return found.HostID, err
}

// FindFleetID is like FindFleet, and returns an id or an ARN as it is.
func (c *Client) FindFleetID(ctx context.Context, text string) (string, error) {
	if wholeFleet(text) {
		return text, nil
	}
	f, err := c.FindFleet(ctx, text)
	return f.ID, err
}

// Find is like FindFleet for hosts.
func (h Hosts) Find(ctx context.Context, text string) (Host, error) {
	all, err := h.List(ctx)
	if err != nil {
		return Host{}, err
	}
	return pick("host", "muster hosts", text, all, func(h Host) string { return h.HostID }, func(h Host) string { return h.Name })
}

// instanceID is a whole instance id, by which computes of managed fleets are named; those of
// container fleets have a number after it.
var instanceID = regexp.MustCompile(`^i-[0-9a-f]{17}(/[0-9]+)?$`)

// inGroup is the name or ARN of the compute of a container group.
var inGroup = regexp.MustCompile(`i-[0-9a-f]{17}/[0-9]+$`)

// FindCompute returns the name of the compute of a fleet that text stands for: its name or ARN,
// which are returned as they are if that is plain, or an unambiguous beginning or end of its
// name. fleet is an id or ARN.
func (c *Client) FindCompute(ctx context.Context, fleet, text string) (string, error) {
	if instanceID.MatchString(text) || strings.HasPrefix(text, "arn:") {
		return text, nil
	}
	var all []string
	for in := (map[string]any{"FleetId": fleet, "Limit": 100}); ; {
		var page struct {
			ComputeList []struct{ ComputeName string }
			NextToken   string
		}
		if err := c.Call(ctx, "ListCompute", in, &page); err != nil {
			return "", err
		}
		for _, of := range page.ComputeList {
			all = append(all, of.ComputeName)
		}
		if page.NextToken == "" {
			break
		}
		in["NextToken"] = page.NextToken
	}
	if len(all) == 0 {
		return "", fmt.Errorf("the fleet has no compute, so none that is %q: 'muster fleets show %s' says why", text, fleet)
	}
	itself := func(name string) string { return name }
	return pick("compute", "aws gamelift list-compute --fleet-id "+fleet, text, all, itself, itself)
}

// FindProcess returns the id of the game server process on a compute that text stands for, as
// FindCompute does. compute is a whole name or ARN. For that of a container group text is returned
// as it is: the server refuses it and names the flag to use.
func (c *Client) FindProcess(ctx context.Context, fleet, compute, text string) (string, error) {
	if whole(text, "") || inGroup.MatchString(compute) {
		return text, nil
	}
	listed, err := c.Processes(ctx, fleet[strings.LastIndex(fleet, "/")+1:])
	if err != nil {
		return "", err
	}
	var all []string
	for _, p := range listed {
		if p.Compute == compute || strings.HasSuffix(compute, ":compute/"+p.Compute) {
			all = append(all, p.ID)
		}
	}
	itself := func(id string) string { return id }
	return pick("process", "muster hosts show HOST", text, all, itself, itself)
}
