package serversdk

import (
	"math"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/internal/fault"
)

// signedWindow is how far the date of a first connection's signature may be from
// now: the C# SDK stamps local time as if it were UTC.
const signedWindow = 24 * time.Hour

// anyDate accepts every date: the SDKs reconnect with the URL that they signed when
// the process started.
const anyDate = time.Duration(math.MaxInt64)

// authenticate checks the credentials that the process presents. Errors: Unauthorized.
func (s *Server) authenticate(a arrival, now time.Time) error {
	if s.opts.AcceptAnyCredentials {
		return nil
	}
	switch shown := a.query.Get("Authorization"); shown {
	case "":
		return s.authenticateBare(a)
	case "SigV4":
		return s.authenticateSigned(a, now)
	default:
		return s.opts.Computes.CheckToken(a.ref, shown, now)
	}
}

func (s *Server) authenticateSigned(a arrival, now time.Time) error {
	if s.opts.Signatures == nil {
		return fault.New(fault.Unauthorized, "Authorization: SigV4 is not accepted here; connect with a compute's auth token")
	}
	window := signedWindow
	if s.opts.Computes.Lives(s.opts.Store.View(), a.ref) {
		window = anyDate
	}
	caller, err := s.opts.Signatures.VerifyServer(a.query, now, window)
	if err != nil {
		return err
	}
	return s.permit(caller, a.ref)
}

// permit checks that the caller's role and scope allow the fleet and, if the scope has
// locations, the location of the compute. Errors: AccessDenied.
func (s *Server) permit(caller auth.Caller, ref compute.Ref) error {
	if err := caller.May(auth.ConnectGameServer, s.opts.Computes.FleetARN(ref.FleetID)); err != nil {
		return err
	}
	c, err := s.opts.Computes.Find(s.opts.Store.View(), ref.FleetID, ref.ComputeName)
	if err != nil {
		return nil // refused later, because it does not exist
	}
	if location := s.opts.Computes.LocationARN(c.Location); !caller.ReachesBeside(location) {
		return caller.May(auth.ConnectGameServer, location)
	}
	return nil
}

// authenticateBare accepts a reconnect without credentials, which the C++ SDK 5.4.0
// makes after two unanswered requests if it signed with SigV4: only for a living
// process, and only from the host of its last valid signature.
func (s *Server) authenticateBare(a arrival) error {
	if s.opts.Computes.Lives(s.opts.Store.View(), a.ref) && s.signedFrom(a.ref) == a.host {
		return nil
	}
	return fault.New(fault.Unauthorized, "Authorization: required")
}

// signedFrom returns the host from which the process last connected with a valid
// signature, or "".
func (s *Server) signedFrom(ref compute.Ref) string {
	s.mu.Lock()
	p := s.peers[ref.Key()]
	s.mu.Unlock()
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signedFrom
}
