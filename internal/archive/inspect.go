package archive

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

const slack = 1 << 20 // bytes that any archive may unpack to, whatever its ratio

// inspector enforces the rules for entries and the limits on sizes.
type inspector struct {
	limits Limits
	packed int64
	files  int
	bytes  int64
	links  map[string]string // targets of symbolic links, by name: nothing may be below one
	seen   map[string]bool   // names of files and links
}

func newInspector(packed int64, limits Limits) *inspector {
	return &inspector{limits: limits.withDefaults(), packed: packed, links: map[string]string{}, seen: map[string]bool{}}
}

// admit returns an error if an entry must not be unpacked.
func (in *inspector) admit(e entry) error {
	if in.files++; in.files > in.limits.Files {
		return refuse("it has more than %d entries", in.limits.Files)
	}
	switch {
	case e.mode&fs.ModeSetuid != 0:
		return refuse("%q would run as another user: it has the setuid bit", e.name)
	case e.mode&fs.ModeSetgid != 0:
		return refuse("%q would run as another group: it has the setgid bit", e.name)
	}
	for dir := path.Dir(e.name); dir != "."; dir = path.Dir(dir) {
		if in.isLink(dir) {
			return refuse("%q lies below %q, which is a link", e.name, dir)
		}
	}
	if e.mode.IsDir() {
		if in.seen[e.name] {
			return refuse("%q is both a file and a folder", e.name)
		}
		return nil
	}
	if in.seen[e.name] {
		return refuse("%q is in it twice", e.name)
	}
	in.seen[e.name] = true
	if e.mode&fs.ModeSymlink != 0 {
		in.links[e.name] = e.link
		return in.admitLink(e)
	}
	if e.hard {
		switch {
		case in.isLink(e.link):
			return refuse("%q is a hard link to %q, which is a symbolic link", e.name, e.link)
		case !in.seen[e.link]:
			return refuse("%q is a hard link to %q, which is no earlier file of the archive", e.name, e.link)
		}
		return nil
	}
	if !e.mode.IsRegular() {
		return refuse("%q is %s; only files, folders and links are allowed", e.name, special(e.mode))
	}
	if e.size > in.limits.Bytes {
		return refuse("%q alone has %d bytes; at most %d may be unpacked", e.name, e.size, in.limits.Bytes)
	}
	return nil
}

// special says what an entry is that is neither file, folder nor link.
func special(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "of an unknown type"
}

// admitLink accepts links that stay within the folder: relative ones that do not lead
// out of it.
func (in *inspector) admitLink(e entry) error {
	target := e.link
	switch {
	case target == "":
		return refuse("the link %q has no target", e.name)
	case len(target) > maxName:
		return refuse("the target of the link %q has more than %d bytes", e.name, maxName)
	case strings.ContainsRune(target, 0):
		return refuse("the target of the link %q contains a NUL character", e.name)
	case strings.ContainsRune(target, '\\'):
		return refuse("the link %q leads to %q, which has a backslash: use slashes", e.name, target)
	case path.IsAbs(target):
		return refuse("the link %q leads to %q; only relative targets are allowed", e.name, target)
	}
	if at := path.Join(path.Dir(e.name), target); at == ".." || strings.HasPrefix(at, "../") {
		return refuse("the link %q leads out of the archive, to %q", e.name, target)
	}
	return nil
}

func (in *inspector) isLink(name string) bool { _, ok := in.links[name]; return ok }

const maxHops = 40 // most links followed on the way to a file, as in Linux

// finish follows each link through all others: a link with an acceptable target may
// still lead out by way of another.
func (in *inspector) finish() error {
	if in.files == 0 {
		return refuse("it is empty")
	}
	for name, target := range in.links {
		if why := in.astray(path.Dir(name), target); why != "" {
			return refuse("the link %q leads %s", name, why)
		}
	}
	return nil
}

// astray returns where a link in a folder leads if it does not end below the top, else "".
func (in *inspector) astray(dir, target string) string {
	at := dir
	rest := strings.Split(target, "/")
	for hops := 0; len(rest) > 0; {
		step := rest[0]
		rest = rest[1:]
		if step == ".." && at == "." {
			return "out of the archive, by way of other links"
		}
		at = path.Join(at, step)
		if next, ok := in.links[at]; ok && step != "" && step != "." && step != ".." {
			if hops++; hops > maxHops {
				return fmt.Sprintf("in a circle, or through more than %d links", maxHops)
			}
			at = path.Dir(at)
			rest = append(strings.Split(next, "/"), rest...)
		}
	}
	return ""
}

// meter counts what is read and returns a refusal past the limits.
func (in *inspector) meter(r io.Reader) io.Reader { return &meter{in, r} }

type meter struct {
	in *inspector
	r  io.Reader
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	in := m.in
	in.bytes += int64(n)
	switch {
	case in.bytes > in.limits.Bytes:
		return n, refuse("it unpacks to more than %d bytes", in.limits.Bytes)
	case in.bytes > slack && in.bytes/in.limits.Ratio > in.packed:
		return n, refuse("it unpacks to more than %d times its size", in.limits.Ratio)
	}
	return n, err
}
