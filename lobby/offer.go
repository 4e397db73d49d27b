package lobby

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/musterhq/muster/flexmatch"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/placement"
)

// Offer is the operator's configuration of what players can play.
type Offer struct {
	Matchmakers []Matchmaker
	Pools       []Pool
	// Open offers every matchmaking configuration and every queue by its own name
	// and accepts all attributes from clients. It is meant for a developer's machine.
	Open bool
}

// Matchmaker is the players' name for a matchmaking configuration.
type Matchmaker struct {
	Name           string      `yaml:"name"`
	Configuration  string      `yaml:"configuration"` // default: Name
	MinParty       int         `yaml:"min_party"`     // players of a ticket; default 1
	MaxParty       int         `yaml:"max_party"`     // default 1; at most 10
	Scopes         []string    `yaml:"scopes"`        // default guest and authenticated
	Attributes     []Attribute `yaml:"attributes"`
	RequireLatency bool        `yaml:"require_latency"` // refuse tickets without any
	RequireReceipt bool        `yaml:"require_receipt"` // use only latency with a beacon's receipt
}

// Attribute says where a player's attribute comes from.
type Attribute struct {
	Name string `yaml:"name"`
	// From is server (default: from the player's server data), client or const.
	From string `yaml:"from"`
	Key  string `yaml:"key"` // of the player's server data; default: Name
	// Type is that of a client's value: number, string, string_list or string_number_map.
	Type string `yaml:"type"`
	// Min and Max limit numbers from clients.
	Min *float64 `yaml:"min"`
	Max *float64 `yaml:"max"`
	// Default is the value if there is none, or the value of a const.
	Default any `yaml:"default"`
}

// Pool is the players' name for a queue.
type Pool struct {
	Name       string   `yaml:"name"`
	Queue      string   `yaml:"queue"`       // default: Name
	CanCreate  bool     `yaml:"can_create"`  // players may create game sessions
	CanList    bool     `yaml:"can_list"`    // players may list and join game sessions
	MaxPlayers int      `yaml:"max_players"` // of a game session; default 16
	Properties []string `yaml:"properties"`  // keys that players may set
	Scopes     []string `yaml:"scopes"`      // default guest and authenticated
}

// mostParty is the most players of a ticket (API reference, StartMatchmaking).
const mostParty = 10

// Check sets the defaults in place, and returns an error that names an invalid setting.
func (o *Offer) Check() error {
	seen := map[string]bool{}
	for i := range o.Matchmakers {
		m := &o.Matchmakers[i]
		if m.Name == "" || seen[m.Name] {
			return fmt.Errorf("players: matchmaker %q: names are required and unique", m.Name)
		}
		seen[m.Name] = true
		if err := m.check(); err != nil {
			return fmt.Errorf("players: matchmaker %q: %w", m.Name, err)
		}
	}
	clear(seen)
	for i := range o.Pools {
		p := &o.Pools[i]
		if p.Name == "" || seen[p.Name] {
			return fmt.Errorf("players: pool %q: names are required and unique", p.Name)
		}
		seen[p.Name] = true
		p.Queue, p.MaxPlayers = cmp.Or(p.Queue, p.Name), cmp.Or(p.MaxPlayers, 16)
	}
	return nil
}

func (m *Matchmaker) check() error {
	m.Configuration = cmp.Or(m.Configuration, m.Name)
	m.MinParty, m.MaxParty = max(m.MinParty, 1), max(m.MaxParty, m.MinParty, 1)
	if m.MaxParty > mostParty {
		return fmt.Errorf("max_party: %d; at most %d", m.MaxParty, mostParty)
	}
	for i := range m.Attributes {
		a := &m.Attributes[i]
		a.From, a.Key = cmp.Or(a.From, "server"), cmp.Or(a.Key, a.Name)
		if err := a.check(); err != nil {
			return fmt.Errorf("attribute %q: %w", a.Name, err)
		}
	}
	return nil
}

func (a *Attribute) check() error {
	switch {
	case a.Name == "":
		return fmt.Errorf("name: required")
	case !slices.Contains([]string{"server", "client", "const"}, a.From):
		return fmt.Errorf("from: %q is none of server, client, const", a.From)
	case a.From == "client" && !slices.Contains([]string{"number", "string", "string_list", "string_number_map"}, a.Type):
		return fmt.Errorf("type: %q is none of number, string, string_list, string_number_map", a.Type)
	case a.From == "const" && a.Default == nil:
		return fmt.Errorf("default: required for a const")
	}
	return nil
}

func allows(scopes []string, scope string) bool {
	return len(scopes) == 0 || slices.Contains(scopes, scope)
}

// Catalog is what players can play now: the offer, and on an open server everything that
// exists.
type Catalog struct {
	st         *store.Store
	matches    *flexmatch.Service
	placements *placement.Service
	offer      atomic.Pointer[Offer]
}

func (c *Catalog) open() bool { return c.offer.Load().Open }

// Matchmakers returns those of the offer, and on an open server one for each matchmaking
// configuration.
func (c *Catalog) Matchmakers() []Matchmaker {
	all := slices.Clone(c.offer.Load().Matchmakers)
	if c.open() {
		for found := range c.matches.Configurations.After(c.st.View(), "") {
			if !slices.ContainsFunc(all, func(m Matchmaker) bool { return m.Name == found.Name }) {
				all = append(all, anyMatchmaker(found.Name))
			}
		}
	}
	return all
}

// AsksPlayers reports whether matches of a matchmaker must be accepted.
func (c *Catalog) AsksPlayers(m *Matchmaker) bool {
	found := c.matches.Configurations.Get(c.st.View(), m.Configuration)
	return found != nil && found.AcceptanceRequired
}

// anyMatchmaker returns the matchmaker of a configuration on an open server.
func anyMatchmaker(name string) Matchmaker {
	return Matchmaker{Name: name, Configuration: name, MinParty: 1, MaxParty: mostParty}
}

// matchmaker returns a matchmaker by its name, without looking at all configurations.
func (c *Catalog) matchmaker(name string) (*Matchmaker, error) {
	for _, m := range c.offer.Load().Matchmakers {
		if m.Name == name {
			return &m, nil
		}
	}
	if found := c.matches.Configurations.Get(c.st.View(), name); c.open() && found != nil && found.Name == name { // not its ARN
		m := anyMatchmaker(name)
		return &m, nil
	}
	return nil, refuse(NotFound, "there is no matchmaker "+name)
}

// Pools returns those of the offer, and on an open server one for each queue.
func (c *Catalog) Pools() []Pool {
	all := slices.Clone(c.offer.Load().Pools)
	if c.open() {
		for q := range c.placements.Queues.After(c.st.View(), "") {
			if !slices.ContainsFunc(all, func(p Pool) bool { return p.Name == q.Name }) {
				all = append(all, anyPool(q.Name))
			}
		}
	}
	return all
}

// anyPool returns the pool of a queue on an open server.
func anyPool(name string) Pool {
	return Pool{Name: name, Queue: name, CanCreate: true, CanList: true, MaxPlayers: 16}
}

// find returns a pool by its name, without looking at all queues, or nil.
func (c *Catalog) find(name string) *Pool {
	for _, p := range c.offer.Load().Pools {
		if p.Name == name {
			return &p
		}
	}
	if q := c.placements.Queues.Get(c.st.View(), name); c.open() && q != nil && q.Name == name { // not its ARN
		p := anyPool(name)
		return &p
	}
	return nil
}

// pool returns the named pool, or an error if a player with the scope may not use it or
// may reports false.
func (c *Catalog) pool(name, scope string, may func(*Pool) bool) (*Pool, error) {
	p := c.find(name)
	switch {
	case p == nil:
		return nil, refuse(NotFound, "there is no pool "+name)
	case !allows(p.Scopes, scope):
		return nil, refuse(ScopeInsufficient, "link an account elsewhere to use "+name)
	case !may(p):
		return nil, refuse(NotAllowed, "players may not do this in "+name)
	}
	return p, nil
}
