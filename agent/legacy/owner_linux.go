package legacy

import (
	"bufio"
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ownersOf returns the processes that own a connection of this machine from one address to
// another. first is the process that is looked at first.
func ownersOf(from, to netip.AddrPort, first int) (pids []int, known bool) {
	inode := inodeOf(from, to)
	if inode == "" {
		return nil, true // it was closed meanwhile
	}
	link := "socket:[" + inode + "]"
	if first > 0 && holds(first, link) {
		return []int{first}, true
	}
	return holdersOf(link)
}

// holdersOf returns the processes that have a file open, by what the link to it says.
func holdersOf(link string) (pids []int, known bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && holds(pid, link) {
			pids = append(pids, pid)
		}
	}
	return pids, true
}

// listenerOf returns which program listens on a port of the loopback interface, for people;
// "" if the system does not say.
func listenerOf(port int) string {
	four, six := netip.IPv4Unspecified(), netip.IPv6Unspecified()
	for _, at := range []struct{ local, remote netip.Addr }{{netip.AddrFrom4([4]byte{127, 0, 0, 1}), four}, {four, four}, {six, six}} {
		inode := inodeOf(netip.AddrPortFrom(at.local, uint16(port)), netip.AddrPortFrom(at.remote, 0))
		if inode == "" {
			continue
		}
		if pids, _ := holdersOf("socket:[" + inode + "]"); len(pids) > 0 {
			return programOf(pids[0])
		}
	}
	return ""
}

// programOf returns the name of a process's program with its id, and of our own its command.
// Arguments are left out, since they may hold secrets.
func programOf(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty if it has ended
	words := strings.Split(string(line), "\x00")
	name := filepath.Base(words[0])
	if name == "muster" && len(words) > 1 && (words[1] == "agent" || words[1] == "local" || words[1] == "preflight" || words[1] == "wrap") {
		name += " " + words[1]
	}
	return fmt.Sprintf("%s (process %d)", name, pid)
}

// inodeOf returns the inode of the socket of a connection, or "".
func inodeOf(from, to netip.AddrPort) string {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		six := strings.HasSuffix(table, "6")
		if inode := search(table, kernelAddress(from, six), kernelAddress(to, six)); inode != "" {
			return inode
		}
	}
	return ""
}

// search returns the inode of the connection with two addresses in a table of the kernel.
func search(table, from, to string) string {
	file, err := os.Open(table)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
		words := strings.Fields(lines.Text())
		if len(words) > 9 && words[1] == from && words[2] == to {
			return words[9]
		}
	}
	return ""
}

// kernelAddress returns an address as the kernel writes it: words of four bytes in the
// order of this machine, which is little-endian. Sockets for IPv6 have IPv4 addresses in
// their mapped form.
func kernelAddress(a netip.AddrPort, six bool) string {
	var raw []byte
	if ip := a.Addr().Unmap(); ip.Is4() && !six {
		raw = ip.AsSlice()
	} else {
		b := ip.As16()
		raw = b[:]
	}
	var text strings.Builder
	for word := range slices.Chunk(raw, 4) {
		fmt.Fprintf(&text, "%02X%02X%02X%02X", word[3], word[2], word[1], word[0])
	}
	fmt.Fprintf(&text, ":%04X", a.Port())
	return text.String()
}

// holds reports whether a process has a file open, by what the link to it says.
func holds(pid int, link string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return false // it has ended, or belongs to somebody else
	}
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		to, err := os.Readlink(dir + "/" + f.Name())
		return err == nil && to == link
	})
}

// maxLineage bounds how many ancestors are looked at.
const maxLineage = 64

// lineage returns a process, its ancestors, and the leaders of the groups and sessions
// that they are in: a process whose parent has ended still is in its session.
func lineage(pid int) map[int]bool {
	all := map[int]bool{}
	for range maxLineage {
		if pid <= 1 {
			break
		}
		all[pid] = true
		parent, group, session, ok := relatives(pid)
		if !ok {
			break
		}
		all[group], all[session] = true, true
		pid = parent
	}
	delete(all, 0)
	delete(all, 1)
	return all
}

// relatives returns the parent, the process group and the session of a process.
func relatives(pid int) (parent, group, session int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0, false
	}
	at := bytes.LastIndexByte(text, ')') // ends the name, which may hold anything
	var state string
	n, _ := fmt.Sscan(string(text[at+1:]), &state, &parent, &group, &session)
	return parent, group, session, n == 4
}
