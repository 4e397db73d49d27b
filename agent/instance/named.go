package instance

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/agent/ports"
	"github.com/musterhq/muster/agent/wrap"
)

// portName is the form of the name of a port, and namedPort how parameters refer to one.
var (
	portName  = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)
	namedPort = regexp.MustCompile(`\{\{\s*\.?Port\.([A-Za-z0-9]+)\s*\}\}`)
)

// maxNamed is how many named ports a process may have.
const maxNamed = 8

// portNames returns the names of the ports to which texts refer, in order.
func portNames(texts ...string) ([]string, error) {
	found := map[string]bool{}
	for _, text := range texts {
		for _, m := range namedPort.FindAllStringSubmatch(text, -1) {
			if !portName.MatchString(m[1]) {
				return nil, fmt.Errorf("%s: %q is no name of a port, which has up to 16 small letters and digits and begins with a letter", m[0], m[1])
			}
			found[m[1]] = true
		}
	}
	if len(found) > maxNamed {
		return nil, fmt.Errorf("%d ports have names ({{.Port.NAME}}); a process may have %d", len(found), maxNamed)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// NamedRanges are the ranges of this machine for ports of a name, such as query ports, which a
// firewall treats in another way than games' ports.
type NamedRanges map[string]*ports.Range

// Add adds a range for a name. Errors name what is wrong.
func (r NamedRanges) Add(name string, from, to int) error {
	if !portName.MatchString(name) {
		return fmt.Errorf("%q is no name of a port, which has up to 16 small letters and digits and begins with a letter", name)
	}
	var err error
	r[name], err = ports.New(from, to)
	return err
}

// Apart returns an error if a range has a port of another one, or of those from one to another.
func (r NamedRanges) Apart(from, to int) error {
	last, of := 0, ""
	for _, name := range slices.SortedFunc(maps.Keys(r), func(a, b string) int { return cmp.Compare(r.first(a), r.first(b)) }) {
		first, end := r[name].Bounds()
		if first <= to && end >= from {
			return fmt.Errorf("named ports: %s=%d-%d has ports of %d-%d, which games take; choose others", name, first, end, from, to)
		}
		if first <= last {
			return fmt.Errorf("named ports: %s=%d-%d has ports of %s; choose others", name, first, end, of)
		}
		last, of = end, name
	}
	return nil
}

func (r NamedRanges) first(name string) int {
	first, _ := r[name].Bounds()
	return first
}

// rangeOf returns the range from which ports of a name come: the machine's for the name, or the
// instance's. The caller must hold mu.
func (l *launcher) rangeOf(name string) *ports.Range {
	if r := l.m.Named[name]; r != nil {
		return r
	}
	return l.ports
}

// takeNamed takes a port for each name to which texts refer, for a process.
func (l *launcher) takeNamed(id string, texts []string) (map[string]int, error) {
	names, err := portNames(texts...)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := make(map[string]int, len(names))
	l.named[id] = taken // what is taken is released with the process, though another port cannot be
	for _, name := range names {
		port, err := l.rangeOf(name).Take(time.Now())
		if err != nil {
			return nil, fmt.Errorf("port %q: %w", name, err)
		}
		taken[name] = port
	}
	return maps.Clone(taken), nil
}

// keepNamed marks the ports of a process that runs already as taken.
func (l *launcher) keepNamed(id string, named map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.named[id] = named
	for name, port := range named {
		l.rangeOf(name).Keep(port)
	}
}

// releaseNamed releases the named ports of a process.
func (l *launcher) releaseNamed(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, port := range l.named[id] {
		l.rangeOf(name).Release(port, time.Now())
	}
	delete(l.named, id)
}

// portVariables returns the environment variables of named ports.
func portVariables(named map[string]int) (env []string) {
	for _, name := range slices.Sorted(maps.Keys(named)) {
		env = append(env, wrap.PortVariable(name)+"="+strconv.Itoa(named[name]))
	}
	return env
}

// ownPorts returns the addresses at which the wrapper of a program reaches it.
func ownPorts(port int, named map[string]int) []netip.AddrPort {
	local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	all := []netip.AddrPort{netip.AddrPortFrom(local, uint16(port))}
	for _, n := range named {
		all = append(all, netip.AddrPortFrom(local, uint16(n)))
	}
	return all
}
