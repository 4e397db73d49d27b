// Package price says what instances and machines cost, by a list that people write. It is
// pure: what there is, is given to it.
package price

import (
	"fmt"
	"math"
	"math/bits"
	"path"
	"strings"
)

// Micros is an amount of money for an hour, in millionths of the list's currency.
type Micros int64

// Amount returns m in the currency.
func (m Micros) Amount() float64 { return float64(m) / 1e6 }

// most is the highest price of an hour, in the currency.
const most = 1e6

// List is a price list. Of its entries, the first that fits applies.
type List struct {
	// Currency is the currency of all prices: three capital letters of ISO 4217. "" means
	// that nothing has a price.
	Currency string `yaml:"currency"`
	// Instances are prices of instances, wherever the machine below them is paid.
	Instances []Instance `yaml:"instances"`
	// Hosts are prices of whole machines, which what runs on them shares.
	Hosts []Host `yaml:"hosts"`
}

// Instance is the price of an instance.
type Instance struct {
	Type     string  `yaml:"type"`     // such as c5.large; "": any
	Location string  `yaml:"location"` // "": any
	Hour     float64 `yaml:"hour"`     // 0 to 1,000,000
}

// Host is the price of a machine.
type Host struct {
	Name     string  `yaml:"name"`     // in which * stands for any letters, as in path.Match; "": any
	Location string  `yaml:"location"` // "": any
	Hour     float64 `yaml:"hour"`     // 0 to 1,000,000
}

// Check returns an error that names what is wrong in a list.
func (l *List) Check() error {
	if l.Currency == "" && len(l.Instances)+len(l.Hosts) == 0 {
		return nil
	}
	if len(l.Currency) != 3 || strings.Trim(l.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return fmt.Errorf("currency: %q is no currency; write its three capital letters, such as EUR", l.Currency)
	}
	for n, i := range l.Instances {
		if err := hour(i.Hour); err != nil {
			return fmt.Errorf("instances[%d]: %w", n, err)
		}
	}
	for n, h := range l.Hosts {
		if _, err := path.Match(h.Name, ""); err != nil {
			return fmt.Errorf("hosts[%d].name: %q is no pattern: %w", n, h.Name, err)
		}
		if err := hour(h.Hour); err != nil {
			return fmt.Errorf("hosts[%d]: %w", n, err)
		}
	}
	return nil
}

func hour(price float64) error {
	if !(price >= 0 && price <= most) {
		return fmt.Errorf("hour: %v is not within 0 and %.0f", price, float64(most))
	}
	return nil
}

// Instance returns the price of an instance of a type at a location, and false if the list
// has none.
func (l *List) Instance(instanceType, location string) (Micros, bool) {
	for _, i := range l.Instances {
		if (i.Type == "" || i.Type == instanceType) && (i.Location == "" || i.Location == location) {
			return micros(i.Hour), true
		}
	}
	return 0, false
}

// Host returns the price of a machine by its name and location, and false if the list has
// none.
func (l *List) Host(name, location string) (Micros, bool) {
	for _, h := range l.Hosts {
		fits, _ := path.Match(h.Name, name) // checked
		if (h.Name == "" || fits) && (h.Location == "" || h.Location == location) {
			return micros(h.Hour), true
		}
	}
	return 0, false
}

func micros(hour float64) Micros { return Micros(math.Round(hour * 1e6)) }

// Size is what a machine offers, or an instance takes of it.
type Size struct {
	CPUMillis int // processors, in thousandths
	MemoryMiB int
}

// Split divides the price of a machine among the instances on it. Each pays for the mean of
// its shares of the machine's processors and memory; what nobody takes is the rest. If the
// instances together have more than the machine offers, there is no rest, and each pays in
// proportion. The parts and the rest add up to the price.
func Split(price Micros, machine Size, instances []Size) (parts []Micros, rest Micros) {
	cpus, memory := uint64(max(machine.CPUMillis, 0)), uint64(max(machine.MemoryMiB, 0))
	// A share is weight/whole: cpu/cpus/2 + memory/memory/2 on one denominator.
	whole := 2 * max(cpus, 1) * max(memory, 1)
	weights, sum := make([]uint64, len(instances)), uint64(0)
	for n, i := range instances {
		c, m := uint64(max(i.CPUMillis, 0)), uint64(max(i.MemoryMiB, 0))
		weights[n] = c*max(memory, 1) + m*max(cpus, 1)
		sum += weights[n]
	}
	whole = max(whole, sum)
	rest = price
	parts = make([]Micros, len(instances))
	for n, weight := range weights {
		high, low := bits.Mul64(uint64(price), weight)
		part, _ := bits.Div64(high, low, whole)
		parts[n] = Micros(part)
		rest -= parts[n]
	}
	return parts, rest
}
