package registry

import (
	"fmt"
	"net"
	"regexp"
	"strings"
)

// Reference is the name of an image, with the parts that a short name leaves out.
type Reference struct {
	Host       string // of the registry, with its port if it has one
	Repository string
	Tag        string // "" if there is a digest and no tag
	Digest     string // "" if only the tag says which content is meant
}

// The registry of names without one, and the host that serves its API.
const (
	dockerHub    = "docker.io"
	dockerHubAPI = "registry-1.docker.io"
)

var (
	hostForm       = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$`)
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagForm        = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	digestForm     = regexp.MustCompile(`^sha256:[a-f0-9]{64}$`)
)

// Parse reads the name of an image: [HOST/]REPOSITORY[:TAG][@DIGEST]. As for Docker, the
// first part is a host if it contains a dot or a colon or is localhost; without a host the
// image is Docker Hub's, and without a tag and a digest the tag is latest.
func Parse(name string) (Reference, error) {
	var r Reference
	rest, digest, pinned := strings.Cut(name, "@")
	if pinned {
		if !digestForm.MatchString(digest) {
			return r, fmt.Errorf("%q: what follows @ must be sha256: and 64 lower case hexadecimal digits", name)
		}
		r.Digest = digest
	}
	r.Host = dockerHub
	if first, path, ok := strings.Cut(rest, "/"); ok && (strings.ContainsAny(first, ".:") || first == "localhost") {
		r.Host, rest = first, path
	}
	if colon := strings.LastIndexByte(rest, ':'); colon > strings.LastIndexByte(rest, '/') {
		rest, r.Tag = rest[:colon], rest[colon+1:]
		if !tagForm.MatchString(r.Tag) {
			return r, fmt.Errorf("%q: the tag must have 1 to 128 letters, digits, dots, dashes and underscores", name)
		}
	} else if !pinned {
		r.Tag = "latest"
	}
	if r.Host == dockerHub && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	r.Repository = rest
	switch {
	case !hostForm.MatchString(r.Host):
		return r, fmt.Errorf("%q: %q is no HOST or HOST:PORT of a registry", name, r.Host)
	case !repositoryForm.MatchString(rest):
		return r, fmt.Errorf("%q: the repository must have lower case letters and digits, separated by dots, dashes, underscores and slashes", name)
	}
	return r, nil
}

// address returns the host that serves the registry's API.
func (r Reference) address() string {
	if r.Host == dockerHub {
		return dockerHubAPI
	}
	return r.Host
}

// isLoopback reports whether a HOST or HOST:PORT is this machine by its name.
func isLoopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
