package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/musterhq/muster/flexmatch/ruleset"
)

// Spec says what the players of a simulation are like.
type Spec struct {
	Name        string       `json:"name"`
	StartHour   float64      `json:"start_hour"` // hour of the day at which the simulation begins, 0 to 24
	Matchmaking Matchmaking  `json:"matchmaking"`
	Matches     Matches      `json:"matches"`
	Populations []Population `json:"populations"`
}

// Matchmaking is the settings of a matchmaking configuration other than its rule set.
type Matchmaking struct {
	RequestTimeout        float64 `json:"request_timeout_seconds"` // default 120
	AcceptanceRequired    bool    `json:"acceptance_required"`
	AcceptanceTimeout     float64 `json:"acceptance_timeout_seconds"` // default 60
	AdditionalPlayerCount int     `json:"additional_player_count"`
	Backfill              string  `json:"backfill"`              // AUTOMATIC, MANUAL (game servers request players whenever slots are open) or NONE, the default
	PassInterval          float64 `json:"pass_interval_seconds"` // default 0.5
	Placement             *Chance `json:"placement_seconds"`     // from a match to its game session; default 0
}

// Modes of backfill.
const (
	BackfillNone      = "NONE"
	BackfillAutomatic = "AUTOMATIC"
	BackfillManual    = "MANUAL"
)

// Matches says how long game sessions last.
type Matches struct {
	Length *Chance `json:"length_seconds"` // default 1200
}

// Population is a group of similar players.
type Population struct {
	Name       string               `json:"name"`
	PerMinute  Rates                `json:"tickets_per_minute"`
	Parties    map[string]float64   `json:"parties"` // weight by party size; default solo players
	Attributes map[string]Attribute `json:"attributes"`
	Latency    map[string]Chance    `json:"latency_ms"` // by location; every player has all of them
	Accept     *float64             `json:"accept"`     // share of players who accept a proposed match; default 1
	Reject     float64              `json:"reject"`     // share of players who reject it; the rest do not answer
	Answer     *Chance              `json:"answer_seconds"`
	Patience   *Chance              `json:"patience_seconds"` // time after which a ticket is cancelled; default never
	Stay       *Chance              `json:"stay_seconds"`     // time after which a player leaves a match; default at its end
}

// Rates is a rate for all hours, or one for each of the 24 hours of a day.
type Rates []float64

// UnmarshalJSON reads a number or a list of 24.
func (r *Rates) UnmarshalJSON(data []byte) error {
	var one float64
	if json.Unmarshal(data, &one) == nil {
		*r = Rates{one}
		return nil
	}
	var list []float64
	if err := json.Unmarshal(data, &list); err != nil || len(list) != 24 {
		return errors.New("a rate is a number, or a list of 24 numbers, one for each hour")
	}
	*r = list
	return nil
}

// at returns the rate of an hour, counted from midnight.
func (r Rates) at(hour int) float64 { return r[hour%len(r)] }

// Players returns how many players are expected to come in a time.
func (s *Spec) Players(in time.Duration) float64 {
	sum := 0.0
	for i := range s.Populations {
		p := &s.Populations[i]
		players, weights := 0.0, 0.0
		for size, weight := range p.Parties {
			n, _ := strconv.Atoi(size)
			players, weights = players+float64(n)*weight, weights+weight
		}
		begin := time.Duration(s.StartHour * float64(time.Hour))
		for at := begin; at < begin+in; {
			next := min((at/time.Hour+1)*time.Hour, begin+in)
			sum += p.PerMinute.at(int(at/time.Hour)) * (next - at).Minutes() * players / weights
			at = next
		}
	}
	return sum
}

// Attribute says how a player attribute is drawn. Exactly one of its first four members
// is set and determines the type.
type Attribute struct {
	Number *Chance            `json:"number"`
	String map[string]float64 `json:"string"` // weight by value
	List   *Picks             `json:"string_list"`
	Map    map[string]Chance  `json:"string_number_map"`

	Share       *float64 `json:"share"`        // share of players who have it; default 1
	Party       string   `json:"party"`        // same or each: whether a party's members have the first one's value; default same for strings and lists, each for others
	PartySpread float64  `json:"party_spread"` // of numbers: members are normally distributed around the first one
}

// Picks draws some of a set of strings.
type Picks struct {
	From  map[string]float64 `json:"from"`  // weight by value
	Count *Chance            `json:"count"` // number of distinct strings; default 1
}

// ReadSpec reads and validates a specification in YAML or JSON.
func ReadSpec(data []byte) (*Spec, error) {
	var tree any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return nil, fmt.Errorf("read players: %w", err)
	}
	text, err := json.Marshal(stringKeys(tree))
	if err != nil {
		return nil, fmt.Errorf("read players: %w", err)
	}
	s := &Spec{}
	if err := strict(text, s); err != nil {
		return nil, fmt.Errorf("read players: %w", err)
	}
	s.defaults()
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("read players: %w", err)
	}
	return s, nil
}

// stringKeys converts the keys of YAML maps to strings, as in JSON.
func stringKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[fmt.Sprint(key)] = stringKeys(value)
		}
		return out
	case map[string]any:
		for key, value := range v {
			v[key] = stringKeys(value)
		}
	case []any:
		for i, value := range v {
			v[i] = stringKeys(value)
		}
	}
	return v
}

func (s *Spec) defaults() {
	m := &s.Matchmaking
	m.RequestTimeout = cmp.Or(m.RequestTimeout, 120)
	m.AcceptanceTimeout = cmp.Or(m.AcceptanceTimeout, 60)
	m.PassInterval = cmp.Or(m.PassInterval, 0.5)
	m.Backfill = cmp.Or(m.Backfill, BackfillNone)
	s.Matches.Length = cmp.Or(s.Matches.Length, constant(1200))
	for i := range s.Populations {
		p := &s.Populations[i]
		p.Name = cmp.Or(p.Name, "players")
		p.Accept = cmp.Or(p.Accept, new(1-p.Reject))
		p.Answer = cmp.Or(p.Answer, constant(2))
		if len(p.Parties) == 0 {
			p.Parties = map[string]float64{"1": 1}
		}
	}
}

func (s *Spec) check() error {
	m := s.Matchmaking
	switch {
	case s.StartHour < 0 || s.StartHour > 24:
		return errors.New("start_hour must be from 0 to 24")
	case m.RequestTimeout < 1 || m.RequestTimeout > 43200:
		return errors.New("matchmaking.request_timeout_seconds must be from 1 to 43200")
	case m.AcceptanceTimeout < 1 || m.AcceptanceTimeout > 600:
		return errors.New("matchmaking.acceptance_timeout_seconds must be from 1 to 600")
	case m.AdditionalPlayerCount < 0:
		return errors.New("matchmaking.additional_player_count must not be negative")
	case m.PassInterval < 0.01 || m.PassInterval > 60:
		return errors.New("matchmaking.pass_interval_seconds must be from 0.01 to 60")
	case !slices.Contains([]string{BackfillNone, BackfillAutomatic, BackfillManual}, m.Backfill):
		return errors.New("matchmaking.backfill must be NONE, AUTOMATIC or MANUAL")
	}
	if err := checkChances(map[string]*Chance{"matches.length_seconds": s.Matches.Length, "matchmaking.placement_seconds": m.Placement}); err != nil {
		return err
	}
	for i := range s.Populations {
		if err := s.Populations[i].check(); err != nil {
			return fmt.Errorf("populations[%d]%w", i, err)
		}
	}
	return nil
}

func (p *Population) check() error {
	if len(p.PerMinute) == 0 || slices.Min(p.PerMinute) < 0 || slices.Max(p.PerMinute) > 10_000_000 {
		return errors.New(".tickets_per_minute is required: at least 0, at most 10 million")
	}
	for size := range p.Parties {
		if n, err := strconv.Atoi(size); err != nil || n < 1 || n > 10 {
			return fmt.Errorf(".parties: %q is no number of players from 1 to 10", size)
		}
	}
	if err := checkWeights(".parties", p.Parties); err != nil {
		return err
	}
	if *p.Accept < 0 || p.Reject < 0 || *p.Accept+p.Reject > 1+1e-9 {
		return errors.New(".accept and .reject are shares: from 0 to 1 together")
	}
	if err := checkChances(map[string]*Chance{".answer_seconds": p.Answer, ".patience_seconds": p.Patience, ".stay_seconds": p.Stay}); err != nil {
		return err
	}
	for name, c := range p.Latency {
		if err := c.check(); err != nil {
			return fmt.Errorf(".latency_ms.%s: %w", name, err)
		}
	}
	for name, a := range p.Attributes {
		if err := a.check(); err != nil {
			return fmt.Errorf(".attributes.%s%w", name, err)
		}
	}
	return nil
}

func (a *Attribute) check() error {
	given := 0
	for _, in := range []bool{a.Number != nil, a.String != nil, a.List != nil, a.Map != nil} {
		if in {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New(": one of number, string, string_list and string_number_map is required")
	case a.Party != "" && a.Party != "same" && a.Party != "each":
		return errors.New(".party must be same or each")
	case a.Share != nil && (*a.Share < 0 || *a.Share > 1):
		return errors.New(".share must be from 0 to 1")
	case a.Number != nil:
		return wrap(".number: ", a.Number.check())
	case a.String != nil:
		return checkWeights(".string", a.String)
	case a.List != nil:
		if count := a.List.Count; count != nil {
			if err := count.check(); err != nil {
				return wrap(".string_list.count: ", err)
			}
		}
		return checkWeights(".string_list.from", a.List.From)
	}
	for key, c := range a.Map {
		if err := c.check(); err != nil {
			return wrap(".string_number_map."+key+": ", err)
		}
	}
	return nil
}

func wrap(where string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%w", where, err)
}

func checkWeights(where string, weights map[string]float64) error {
	total := 0.0
	for name, w := range weights {
		if w < 0 {
			return fmt.Errorf("%s.%s: a weight must not be negative", where, name)
		}
		total += w
	}
	if total <= 0 {
		return fmt.Errorf("%s: at least one weight must be above 0", where)
	}
	return nil
}

func (a *Attribute) typ() ruleset.AttributeType {
	switch {
	case a.Number != nil:
		return ruleset.Number
	case a.String != nil:
		return ruleset.String
	case a.List != nil:
		return ruleset.StringSet
	}
	return ruleset.NumberMap
}

// Fit returns an error if the players have an attribute of another type than the rule set
// declares, which a server would refuse.
func (s *Spec) Fit(rs *ruleset.RuleSet) error {
	for _, p := range s.Populations {
		for _, declared := range rs.Attributes {
			if a, ok := p.Attributes[declared.Name]; ok && a.typ() != declared.Type {
				return fmt.Errorf("population %s: attribute %s is a %s; the rule set declares a %s", p.Name, declared.Name, a.typ(), declared.Type)
			}
		}
	}
	return nil
}
