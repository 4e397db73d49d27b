package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Chance describes how a number is drawn: exactly one member selects the distribution.
// Round rounds to a multiple; Min and Max limit the result. A plain number is a constant.
type Chance struct {
	Constant    *float64    `json:"constant,omitempty"`
	Uniform     *[2]float64 `json:"uniform,omitempty"` // from, to
	Normal      *Normal     `json:"normal,omitempty"`
	LogNormal   *LogNormal  `json:"lognormal,omitempty"`
	Exponential *float64    `json:"exponential,omitempty"` // the mean
	Choice      []Weighted  `json:"choice,omitempty"`

	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	Round float64  `json:"round,omitempty"`
}

// Normal is the normal distribution.
type Normal struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"` // standard deviation
}

// LogNormal is the log-normal distribution: many low, few high values.
type LogNormal struct {
	Median float64 `json:"median"`
	Sigma  float64 `json:"sigma"` // standard deviation of the logarithm
}

// Weighted is a value and its weight.
type Weighted struct {
	Value  float64 `json:"value"`
	Weight float64 `json:"weight"`
}

func constant(v float64) *Chance { return &Chance{Constant: &v} }

// UnmarshalJSON reads a number or an object.
func (c *Chance) UnmarshalJSON(data []byte) error {
	var v float64
	if json.Unmarshal(data, &v) == nil {
		*c = *constant(v)
		return nil
	}
	type members Chance
	return strict(data, (*members)(c))
}

func strict(data []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(out)
}

func (c *Chance) check() error {
	given := 0
	for _, in := range []bool{c.Constant != nil, c.Uniform != nil, c.Normal != nil, c.LogNormal != nil, c.Exponential != nil, c.Choice != nil} {
		if in {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("one of constant, uniform, normal, lognormal, exponential and choice is required")
	case c.Uniform != nil && c.Uniform[0] > c.Uniform[1]:
		return errors.New("uniform must go from a lower to a higher number")
	case c.Normal != nil && c.Normal.SD < 0, c.LogNormal != nil && (c.LogNormal.Sigma < 0 || c.LogNormal.Median <= 0):
		return errors.New("a deviation must not be negative, a median must be above 0")
	case c.Exponential != nil && *c.Exponential <= 0:
		return errors.New("the mean of exponential must be above 0")
	case c.Min != nil && c.Max != nil && *c.Min > *c.Max:
		return errors.New("min must not be above max")
	case c.Round < 0:
		return errors.New("round must not be negative")
	}
	total := 0.0
	for _, w := range c.Choice {
		if w.Weight < 0 {
			return errors.New("a weight must not be negative")
		}
		total += w.Weight
	}
	if c.Choice != nil && total <= 0 {
		return errors.New("at least one weight must be above 0")
	}
	return nil
}

func checkChances(all map[string]*Chance) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if c := all[name]; c != nil {
			if err := c.check(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func (c *Chance) draw(r *rand.Rand) float64 { return c.cut(c.raw(r)) }

// cut rounds a number and limits it to Min and Max.
func (c *Chance) cut(v float64) float64 {
	if c.Round > 0 {
		v = math.Round(v/c.Round) * c.Round
	}
	if c.Min != nil {
		v = max(v, *c.Min)
	}
	if c.Max != nil {
		v = min(v, *c.Max)
	}
	return v
}

func (c *Chance) raw(r *rand.Rand) float64 {
	switch {
	case c.Uniform != nil:
		return c.Uniform[0] + r.Float64()*(c.Uniform[1]-c.Uniform[0])
	case c.Normal != nil:
		return c.Normal.Mean + c.Normal.SD*r.NormFloat64()
	case c.LogNormal != nil:
		return c.LogNormal.Median * math.Exp(c.LogNormal.Sigma*r.NormFloat64())
	case c.Exponential != nil:
		return *c.Exponential * r.ExpFloat64()
	case c.Constant != nil:
		return *c.Constant
	}
	total := 0.0
	for _, w := range c.Choice {
		total += w.Weight
	}
	at := r.Float64() * total
	for _, w := range c.Choice {
		if at -= w.Weight; at < 0 {
			return w.Value
		}
	}
	return c.Choice[len(c.Choice)-1].Value
}

// urn draws strings by weight, deterministically for the same random source.
type urn struct {
	names  []string
	upTo   []float64 // sums of weights
	weight []float64
}

func newUrn(weights map[string]float64) urn {
	u, total := urn{}, 0.0
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		total += weights[name]
		u.names, u.upTo, u.weight = append(u.names, name), append(u.upTo, total), append(u.weight, weights[name])
	}
	return u
}

func (u *urn) draw(r *rand.Rand) string {
	at, _ := slices.BinarySearch(u.upTo, r.Float64()*u.upTo[len(u.upTo)-1])
	for at < len(u.names)-1 && u.weight[at] == 0 {
		at++
	}
	return u.names[at]
}

// some draws n distinct strings, in alphabetical order.
func (u *urn) some(r *rand.Rand, n int) []string {
	type keyed struct {
		name string
		key  float64
	}
	all := make([]keyed, 0, len(u.names))
	for i, name := range u.names {
		if u.weight[i] > 0 { // the n smallest exponential times are a weighted draw without replacement
			all = append(all, keyed{name, r.ExpFloat64() / u.weight[i]})
		}
	}
	slices.SortFunc(all, func(a, b keyed) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	out := make([]string, 0, n)
	for _, k := range all[:max(0, min(n, len(all)))] {
		out = append(out, k.name)
	}
	slices.Sort(out)
	return out
}
