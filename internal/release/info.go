package release

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// What a release is built with: -ldflags "-X …/internal/release.number=v0.1.0 …". A program
// that was built otherwise has what the go command recorded.
var number, commit, date string

// Info is the release of a program and what it was built from.
type Info struct {
	Number   string `json:"version"`            // of the release, such as v0.1.0; (devel) for a working copy
	Commit   string `json:"commit,omitempty"`   // the revision in full
	Date     string `json:"date,omitempty"`     // of the commit: RFC 3339
	Modified bool   `json:"modified,omitempty"` // the working copy had changes besides the commit
	Go       string `json:"go"`                 // the toolchain
	Platform string `json:"platform"`           // such as linux/amd64
}

// This returns the release of this program.
func This() Info { return this() }

// Number returns the number of the release of this program.
func Number() string { return this().Number }

// this parses what the go command recorded once: it has a line for each module.
var this = sync.OnceValue(func() Info {
	i := Info{Number: number, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if i.Number != "" {
		return i
	}
	i.Number = "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return i
	}
	if info.Main.Version != "" {
		i.Number = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.Date = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
})

// Line returns the release as one line, after the name of the program.
func (i Info) Line(program string) string {
	line := program + " " + i.Number
	var from []string
	if i.Commit != "" {
		from = append(from, "commit "+i.Commit[:min(12, len(i.Commit))])
	}
	if day, _, _ := strings.Cut(i.Date, "T"); day != "" {
		from = append(from, day)
	}
	if i.Modified {
		from = append(from, "modified")
	}
	if len(from) > 0 {
		line += " (" + strings.Join(from, ", ") + ")"
	}
	return fmt.Sprintf("%s %s %s", line, i.Go, i.Platform)
}
