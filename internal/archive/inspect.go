package archive

import (
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

const (
	maxName  = 1024    // in an entry's name, and in a link's target
	maxDepth = 128     // nested folders
	slack    = 1 << 20 // bytes that any archive may unpack to, whatever its ratio
)

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
	if e.mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return refuse("%q would run as another user (setuid or setgid)", e.name)
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
		if !in.seen[e.link] || in.isLink(e.link) {
			return refuse("%q is a hard link to %q, which is no earlier file of the archive", e.name, e.link)
		}
		return nil
	}
	if !e.mode.IsRegular() {
		return refuse("%q is neither file, folder nor link", e.name)
	}
	if e.size > in.limits.Bytes {
		return refuse("%q alone has %d bytes; at most %d may be unpacked", e.name, e.size, in.limits.Bytes)
	}
	return nil
}

// admitLink accepts links that stay within the folder: relative ones that do not lead
// out of it.
func (in *inspector) admitLink(e entry) error {
	target := e.link
	if target == "" || len(target) > maxName || strings.ContainsAny(target, "\\\x00") || path.IsAbs(target) {
		return refuse("the link %q leads to %q; only relative targets within the archive are allowed", e.name, target)
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
		if !in.stays(path.Dir(name), target) {
			return refuse("the link %q leads out of the archive or in a circle, by way of other links", name)
		}
	}
	return nil
}

// stays reports whether a link in a folder ends below the top.
func (in *inspector) stays(dir, target string) bool {
	at := dir
	rest := strings.Split(target, "/")
	for hops := 0; len(rest) > 0; {
		step := rest[0]
		rest = rest[1:]
		if step == ".." && at == "." {
			return false
		}
		at = path.Join(at, step)
		if next, ok := in.links[at]; ok && step != "" && step != "." && step != ".." {
			if hops++; hops > maxHops {
				return false
			}
			at = path.Dir(at)
			rest = append(strings.Split(next, "/"), rest...)
		}
	}
	return true
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

// cleanName returns an entry's name as a path within the folder; "" is the folder
// itself.
func cleanName(name string) (string, error) {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return "", refuse("an entry has the name %.80q, which is empty, too long or no text", name)
	}
	slashed := strings.ReplaceAll(name, `\`, "/")
	if path.IsAbs(slashed) || len(slashed) > 1 && slashed[1] == ':' {
		return "", refuse("%q is an absolute path", name)
	}
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." {
			return "", refuse("%q climbs out of the archive", name)
		}
	}
	clean := path.Clean(slashed)
	if strings.Count(clean, "/") > maxDepth {
		return "", refuse("%.80q lies more than %d folders deep", name, maxDepth)
	}
	if clean == "." {
		return "", nil
	}
	return clean, nil
}
