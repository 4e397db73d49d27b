package jail

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/isolate"
)

// egressTo returns where a process may send that connects to Muster at sdkURL and uses
// services of this machine besides those of Allow.
func (j *Jailer) egressTo(sdkURL string, uses []netip.AddrPort) isolate.Egress {
	e := isolate.Egress{Allow: j.opts.Egress, Services: slices.Concat(endpoints(sdkURL), j.services, uses), Players: unnamedPorts()}
	for _, server := range nameServers(resolverFile) {
		e.Services = append(e.Services, netip.AddrPortFrom(server, 53))
	}
	return e
}

// resolving bounds how long a launch waits for the addresses of a name.
const resolving = 2 * time.Second

// endpoints returns the addresses of a URL's host that processes could not reach
// otherwise, or none if the name cannot be resolved.
func endpoints(text string) []netip.AddrPort {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	port := map[string]int{"ws": 80, "http": 80, "wss": 443, "https": 443}[u.Scheme]
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		port = int(n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolving)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname()) // for an address: the address itself
	if err != nil {
		return nil
	}
	var all []netip.AddrPort
	for _, a := range addresses {
		if isolate.Refused(a) {
			all = append(all, netip.AddrPortFrom(a, uint16(port)))
		}
	}
	return all
}

// resolverFile lists the machine's name servers.
const resolverFile = "/etc/resolv.conf"

// nameServers returns the name servers listed in a file such as resolverFile.
func nameServers(path string) []netip.Addr {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var all []netip.Addr
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(words[1]); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// resolverFiles returns the paths in hidden folders that processes need to resolve
// names.
func resolverFiles() []string {
	file, err := filepath.EvalSymlinks(resolverFile)
	switch {
	case err != nil || file == resolverFile:
		return nil
	case filepath.Dir(file) == "/run":
		return []string{file}
	}
	return []string{filepath.Dir(file)} // the file is replaced when it changes
}

// unnamedPorts returns the range of ephemeral ports of this machine.
func unnamedPorts() [2]uint16 {
	ports := [2]uint16{32768, 60999}
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, _ = fmt.Sscan(string(text), &ports[0], &ports[1]) // otherwise Linux's default
	}
	return ports
}
