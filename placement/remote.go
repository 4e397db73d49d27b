package placement

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/session"
)

// Remote is another deployment, or AWS, as placements use it: by the public operations
// alone. Each method sends at most a few requests and does not retry. An error that is a
// *Refusal is the remote's answer: nothing was done. After any other error the request may
// have been carried out.
type Remote interface {
	// Name is its name in explanations and metrics.
	Name() string
	// Has reports whether an ARN of a fleet or an alias belongs to it.
	Has(destination string) bool
	// Poll is how often its capacity is asked for while placements wait.
	Poll() time.Duration
	// Survey returns what a destination leads to and its free processes.
	Survey(ctx context.Context, destination string) (Survey, error)
	// Create creates a game session on a free process of a fleet's location. With a token
	// that was used before it returns that game session, as it is now.
	Create(ctx context.Context, at Place, token string, r *Request) (RemoteSession, error)
	// Find returns the game session that Create made with a token.
	Find(ctx context.Context, at Place, token string) (RemoteSession, error)
	// Describe returns a game session.
	Describe(ctx context.Context, gameSessionID string) (RemoteSession, error)
	// Reserve reserves slots for players, for all of them or for none. There are at most
	// MaxReserved.
	Reserve(ctx context.Context, gameSessionID string, players []session.Joining) ([]Placed, error)
	// Reserved returns the players with a slot that is reserved or used.
	Reserved(ctx context.Context, gameSessionID string) ([]Placed, error)
	// Terminate ends a game session, at once if that is possible.
	Terminate(ctx context.Context, gameSessionID string) error
}

// MaxReserved is the most players that one request reserves slots for (API reference,
// CreatePlayerSessions).
const MaxReserved = 25

// Survey is what a destination of a remote leads to.
type Survey struct {
	FleetID string        `json:"fleet_id"`
	Cost    float64       `json:"cost,omitzero"` // per hour; 0 if it has none
	Outcome Outcome       `json:"outcome,omitzero"`
	Places  []RemotePlace `json:"places,omitzero"`
}

// RemotePlace is a location of a remote fleet.
type RemotePlace struct {
	Location string `json:"location"`
	Active   bool   `json:"active"`
	Free     int    `json:"free"`            // processes without a game session, as last surveyed
	Asleep   bool   `json:"asleep,omitzero"` // scaled to zero: Neighbor.Wake makes an instance
	Why      string `json:"why,omitzero"`    // the remote refused an attempt there since, and why
}

// RemoteSession is a game session at a remote.
type RemoteSession struct {
	ID        string         `json:"id"`
	Status    session.Status `json:"status"`
	IPAddress string         `json:"ip_address,omitzero"`
	DNSName   string         `json:"dns_name,omitzero"`
	Port      int            `json:"port,omitzero"`
}

// ended reports whether the game session takes no players any more and never will. It may
// still have its process.
func (s RemoteSession) ended() bool { return s.gone() || s.ID != "" && s.Status == session.Terminating }

// gone reports whether nothing is left of the game session. A status that is not known says
// nothing.
func (s RemoteSession) gone() bool {
	return s.ID != "" && (s.Status == session.Terminated || s.Status == failedStatus)
}

// failedStatus is a status that AWS's game sessions have, and those of this deployment do not.
const failedStatus session.Status = "ERROR"

// Refusal is an answer of a remote that says that nothing was done, and why.
type Refusal struct {
	Kind    RefusalKind `json:"kind"`
	Message string      `json:"message"`
}

func (r *Refusal) Error() string { return r.Message }

// RefusalKind says what a refusal means to a placement.
type RefusalKind string

// The kinds of refusals.
const (
	Full        RefusalKind = "FULL"        // no free process, or no free slot
	Missing     RefusalKind = "MISSING"     // no such fleet or game session
	WrongStatus RefusalKind = "STATUS"      // the status of the fleet or game session excludes it
	Unreachable RefusalKind = "UNREACHABLE" // no connection could be made, so nothing was sent
	Throttled   RefusalKind = "THROTTLED"   // too many requests
	Denied      RefusalKind = "DENIED"      // the credentials are unknown, or do not permit it
	Refused     RefusalKind = "REFUSED"     // anything else, such as a member that it does not take: what it says is about the request
)

// RefusalOf returns the refusal that an error is, or nil.
func RefusalOf(err error) *Refusal {
	r, _ := errors.AsType[*Refusal](err)
	return r
}

// Remotes are the remotes to which queues may lead.
type Remotes []Remote

// of returns the remote that an ARN belongs to, or nil. Several could have an alias, whose
// ARN names no account; then the answer is nil.
func (rs Remotes) of(destination string) Remote {
	var found Remote
	for _, r := range rs {
		if !r.Has(destination) {
			continue
		}
		if found != nil {
			return nil
		}
		found = r
	}
	return found
}

// named returns a remote by its name, or nil.
func (rs Remotes) named(name string) Remote {
	if i := slices.IndexFunc(rs, func(r Remote) bool { return r.Name() == name }); i >= 0 {
		return rs[i]
	}
	return nil
}

// foreign reports whether an ARN is not of this deployment.
func (qs *Queues) foreign(destination string) bool {
	home := qs.fleets.Home()
	region, account := arn.Owner(destination)
	return region != home.Region || account != home.Account && account != ""
}

// remoteOf returns the remote of a destination that is not of this deployment, or nil.
func (qs *Queues) remoteOf(destination string) Remote {
	if len(qs.remotes) == 0 || !qs.foreign(destination) {
		return nil
	}
	return qs.remotes.of(destination)
}

// Elsewhere returns what is known of destinations that are not of this region. Other regions of
// the deployment are asked; one that does not answer may have the destination.
func (qs *Queues) Elsewhere(ctx context.Context, destinations []string) (e Elsewhere) {
	silent := map[string]bool{}
	for _, d := range destinations {
		r := qs.remoteOf(d)
		if r == nil {
			continue
		}
		e.AtRemotes = append(e.AtRemotes, d)
		if !neighborly(r) || silent[r.Name()] {
			continue
		}
		switch found, err := r.Survey(ctx, d); {
		case err != nil:
			silent[r.Name()] = true
		case found.Outcome == NoSuchFleet:
			e.Missing = append(e.Missing, d)
		}
	}
	return e
}

// ownerOf describes where a destination belongs.
func ownerOf(destination string) string {
	region, account := arn.Owner(destination)
	if account == "" {
		return "region " + region
	}
	return "region " + region + " and account " + account
}

// backoff returns how long to wait after n attempts in a row that led nowhere.
func backoff(first, most time.Duration, n int) time.Duration {
	d := first
	for range n {
		if d *= 2; d >= most {
			return most
		}
	}
	return d
}
