package group

import (
	"cmp"
	"maps"
	"net/netip"
	"net/url"
	"slices"

	"github.com/musterhq/muster/agent/gameapi"
	"github.com/musterhq/muster/agent/relay"
	"github.com/musterhq/muster/hosts/protocol"
)

// launch returns how to run a group as it is desired now, and completes what to store about
// the run. Its game server connects through the agent if Muster requests it, or if only
// this machine reaches Muster: such an address means the container itself within one.
func (i *Instance) launch(g protocol.Group, labels Labels, r *run) (Launch, error) {
	d := i.desired
	d.AuthToken = g.AuthToken
	if i.own != nil && i.own.Token != nil && g.Compute != "" {
		var err error
		if d.AuthToken, err = i.own.Token(); err != nil {
			return Launch{}, err
		}
	}
	ours := i.m.endpoints()
	switch {
	case !isGame(g):
	case i.own != nil && ours.Forward != nil && onLoopback(d.SDKURL):
		var err error
		if d.SDKURL, err = ours.Forward(d.SDKURL); err != nil {
			return Launch{}, err
		}
	case i.own == nil && ours.Relay != nil && (d.Relay || i.m.RelayAll || onLoopback(d.SDKURL)):
		r.Pass = relay.NewToken()
		d.SDKURL, d.AuthToken = ours.Relay.URL(), r.Pass
	}
	var discovery string
	if ours.Discovery != nil {
		r.Key = newKey()
		discovery = ours.Discovery.URL(r.Key)
	}
	if ours.Game != nil && isGame(g) {
		r.Game = gameapi.NewToken()
	}
	l := Launch{Labels: labels, Group: g}
	l.Group.Containers = slices.Clone(g.Containers)
	for n := range l.Group.Containers {
		c := &l.Group.Containers[n]
		set := map[string]string{}
		if c.Game {
			setGame(set, d, g, labels.ProcessID)
			if r.Game != "" {
				set[gameapi.URLVariable], set[gameapi.TokenVariable] = ours.Game.URL(), r.Game
			}
		}
		if discovery != "" {
			set["GAMELIFT_CONTAINER_DISCOVERY_SERVER_ENDPOINT"] = discovery
			set["GAMELIFT_CONTAINER_DISCOVERY_SERVER_ENDPOINT_V1"] = discovery + "/v1/"
		}
		c.Environment = merge(c.Environment, set)
	}
	return l, nil
}

// setGame adds the environment of a game server. The names are those of AWS's SDKs.
func setGame(set map[string]string, d protocol.Desired, g protocol.Group, processID string) {
	set["GAMELIFT_SDK_WEBSOCKET_URL"] = d.SDKURL
	set["GAMELIFT_SDK_AUTH_TOKEN"] = d.AuthToken
	set["GAMELIFT_SDK_FLEET_ID"] = d.FleetID
	set["GAMELIFT_SDK_HOST_ID"] = g.Compute
	set["GAMELIFT_SDK_PROCESS_ID"] = processID
	set["GAMELIFT_COMPUTE_TYPE"] = "CONTAINER"
	set["GAMELIFT_REGION"] = d.Region
}

// merge returns a definition's variables, except those that the agent sets, and then the
// latter.
func merge(defined []protocol.Variable, set map[string]string) []protocol.Variable {
	all := slices.DeleteFunc(slices.Clone(defined), func(v protocol.Variable) bool { _, ours := set[v.Name]; return ours })
	for _, name := range slices.Sorted(maps.Keys(set)) {
		all = append(all, protocol.Variable{Name: name, Value: set[name]})
	}
	return all
}

// isGame reports whether a group has a game server, which connects to Muster.
func isGame(g protocol.Group) bool {
	return slices.ContainsFunc(g.Containers, func(c protocol.Container) bool { return c.Game })
}

// onLoopback reports whether a URL leads to the machine on which it is used.
func onLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && addr.IsLoopback()
}

// images returns the images of a group, each one once.
func images(g protocol.Group) []string {
	var all []string
	for _, c := range g.Containers {
		all = append(all, c.Image)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// oldest returns the n keys with the lowest values.
func oldest(at map[string]int64, n int) []string {
	keys := slices.SortedFunc(maps.Keys(at), func(a, b string) int { return cmp.Or(cmp.Compare(at[a], at[b]), cmp.Compare(a, b)) })
	return keys[:max(n, 0)]
}
