// Package arn formats and parses the Amazon Resource Names of GameLift resources.
//
// The forms follow the API's patterns and what AWS's game server SDKs check: the
// region must look like us-east-1, and the account has 12 digits or is empty (as for
// aliases and game sessions).
package arn

import (
	"regexp"
	"strings"
)

const (
	prefix         = "arn:aws:gamelift:"
	containerFleet = "containerfleet"
)

// Home is the deployment that new ARNs belong to.
type Home struct {
	Region  string // such as us-east-1
	Account string // 12 digits
}

var (
	regionForm  = regexp.MustCompile(`^[a-z]{2}-[a-z]+-\d$`)
	accountForm = regexp.MustCompile(`^\d{12}$`)
)

// ValidRegion reports whether AWS's game server SDKs accept ARNs of this region.
func ValidRegion(s string) bool { return regionForm.MatchString(s) }

// ValidAccount reports whether s is an account number of 12 digits.
func ValidAccount(s string) bool { return accountForm.MatchString(s) }

// Of returns the ARN of a resource: Of("fleet", "fleet-1") ends in fleet/fleet-1.
func (h Home) Of(kind, id string) string {
	return prefix + h.Region + ":" + h.Account + ":" + kind + "/" + id
}

// OfFleet returns the ARN of a fleet, whose kind is part of its id: those of container
// fleets begin with containerfleet-.
func (h Home) OfFleet(id string) string {
	if strings.HasPrefix(id, containerFleet+"-") {
		return h.Of(containerFleet, id)
	}
	return h.Of("fleet", id)
}

// OfAlias returns the ARN of an alias; its account is empty, as in AWS.
func (h Home) OfAlias(id string) string { return prefix + h.Region + "::alias/" + id }

// OfSession returns a game session's ARN, which is also its id. A custom location is
// part of the path; the name of a region replaces the ARN's region.
func (h Home) OfSession(fleetID, location, id string) string {
	if strings.HasPrefix(location, "custom-") {
		return prefix + h.Region + "::gamesession/" + fleetID + "/" + location + "/" + id
	}
	return prefix + location + "::gamesession/" + fleetID + "/" + id
}

// ID returns the id of an "id or ARN" member: what follows the first slash of an ARN
// of that kind, or s itself if it is not an ARN. It is "" for an ARN of another kind,
// region or account; the account may be missing.
func (h Home) ID(kind, s string) string {
	if !strings.HasPrefix(s, "arn:") {
		return s
	}
	for _, account := range []string{h.Account, ""} {
		if id, ok := strings.CutPrefix(s, prefix+h.Region+":"+account+":"+kind+"/"); ok {
			return id
		}
	}
	return ""
}

// FleetID is like ID for a fleet of either kind. It is "" for an ARN whose kind is not that
// of the id.
func (h Home) FleetID(s string) string {
	kind := Kind(s)
	if kind != containerFleet {
		kind = "fleet"
	}
	id := h.ID(kind, s)
	if strings.HasPrefix(s, "arn:") && Kind(h.OfFleet(id)) != kind {
		return ""
	}
	return id
}

// IsFleet reports whether s is the ARN of a fleet of either kind.
func IsFleet(s string) bool { return Kind(s) == "fleet" || Kind(s) == containerFleet }

// Kind returns the resource kind of an ARN ("fleet", "alias", …), or "".
func Kind(s string) string {
	parts := strings.SplitN(s, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "gamelift" {
		return ""
	}
	kind, _, _ := strings.Cut(parts[5], "/")
	return kind
}

// Owner returns the region and the account in an ARN; the account may be "".
func Owner(s string) (region, account string) {
	parts := strings.SplitN(s, ":", 6)
	if len(parts) != 6 {
		return "", ""
	}
	return parts[3], parts[4]
}

// SessionFleet returns the fleet id in a game session's ARN, or "".
func SessionFleet(s string) string {
	_, rest, ok := strings.Cut(s, ":gamesession/")
	if !ok {
		return ""
	}
	fleetID, _, _ := strings.Cut(rest, "/")
	return fleetID
}

// SessionLocation returns the location in a game session's ARN: a custom one follows
// the fleet, otherwise it is the region.
func SessionLocation(s string) string {
	head, rest, ok := strings.Cut(s, "::gamesession/")
	if !ok {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "/")
	if location, _, custom := strings.Cut(rest, "/"); custom {
		return location
	}
	return strings.TrimPrefix(head, prefix)
}
