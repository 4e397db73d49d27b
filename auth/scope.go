package auth

import (
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/fault"
)

// Scope restricts a key to some resources. A resource is in scope if its ARN matches
// one of the patterns, if there are any, and it has all of the tags. The zero Scope
// does not restrict a key.
type Scope struct {
	Resources []string          `json:"resources,omitempty"` // ARNs in which * matches any characters
	Tags      map[string]string `json:"tags,omitempty"`
}

// scopeKinds are the kinds of resources that a pattern may name.
var scopeKinds = []string{
	"fleet", "containerfleet", "gamesessionqueue", "matchmakingconfiguration", "location", "alias", "matchmakingruleset", "build", "script", "gameservergroup",
}

const (
	maxPatterns = 50 // of a scope
	maxTags     = 50
	maxPattern  = 256 // bytes of a pattern, of a tag's key and of its value
)

// IsZero reports whether the scope includes everything.
func (s Scope) IsZero() bool { return len(s.Resources) == 0 && len(s.Tags) == 0 }

// String returns the scope as people write it: patterns and KEY=VALUE, separated
// by spaces.
func (s Scope) String() string {
	parts := slices.Clone(s.Resources)
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		parts = append(parts, key+"="+s.Tags[key])
	}
	return strings.Join(parts, " ")
}

// validate returns a fault if a part of the scope could never match, or the scope is
// too large. Errors: InvalidRequest.
func (s Scope) validate() error {
	if len(s.Resources) > maxPatterns || len(s.Tags) > maxTags {
		return fault.Invalid("scope: has %d patterns and %d tags; at most %d of each are allowed", len(s.Resources), len(s.Tags), maxPatterns)
	}
	for _, p := range s.Resources {
		if len(p) > maxPattern || !strings.HasPrefix(p, "arn:aws:gamelift:") || !slices.Contains(scopeKinds, arn.Kind(p)) {
			return fault.Invalid("scope: resources: %.300q is no pattern such as arn:aws:gamelift:*:*:fleet/*; the kind is one of %s",
				p, strings.Join(scopeKinds, ", "))
		}
	}
	for key, value := range s.Tags {
		if key == "" || len(key) > maxPattern || len(value) > maxPattern {
			return fault.Invalid("scope: tags: %.300q must have 1 to %d bytes, and its value at most as many", key, maxPattern)
		}
	}
	return nil
}

// holds reports whether a resource with these tags is in scope.
func (s Scope) holds(resource string, tags map[string]string) bool {
	if len(s.Resources) > 0 && !slices.ContainsFunc(s.Resources, func(p string) bool { return match(p, resource) }) {
		return false
	}
	for key, value := range s.Tags {
		if got, ok := tags[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// names reports whether the scope has a pattern for resources of a kind.
func (s Scope) names(kind string) bool {
	return slices.ContainsFunc(s.Resources, func(p string) bool { return arn.Kind(p) == kind })
}

// match reports whether s matches a pattern in which * matches any characters. Its
// running time is proportional to the product of the lengths.
func match(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(s, part) // the first match leaves the most for the other parts
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return true
}
