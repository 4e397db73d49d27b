package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/door"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/limit"
	"github.com/musterhq/muster/internal/store"
)

// maxBody bounds the body of a request to join, in bytes.
const maxBody = 64 << 10

// join registers a machine as a host.
func (s *Server) join(w http.ResponseWriter, r *http.Request) error {
	if err := s.opts.Limits.Join(r); err != nil {
		return err
	}
	var body bytes.Buffer
	var in protocol.JoinRequest
	err := door.ReadBody(r, &body, maxBody)
	if err == nil {
		err = json.Unmarshal(body.Bytes(), &in)
	}
	if err != nil {
		return fault.Invalid("the body is no join request: %v", err)
	}
	ctx := store.WithActor(r.Context(), "host "+cut(in.Name))
	audit.From(ctx).SetCaller(auth.Caller{Name: cut(in.Name)}, auth.Join)
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	joined, err := s.opts.Instances.Join(ctx, instance.JoinInput{Token: in.Token, From: from.Addr(), HostInfo: infoOf(in.Facts, r)})
	if err != nil {
		audit.From(ctx).SetRefused(auth.Join, err)
		s.warnings.Warn(door.Site(door.Client(r)).String(), "a machine may not join", "name", cut(in.Name), "remote", r.RemoteAddr, "error", err)
		return s.opts.Limits.Failed(r, err)
	}
	s.log.Info("a machine joined", "host_id", joined.HostID, "name", cut(in.Name), "location", joined.Location)
	answer(w, protocol.JoinResponse{HostID: joined.HostID, Secret: joined.Secret, Location: joined.Location, BuildKey: s.buildKey()})
	return nil
}

// infoOf returns a machine's facts; if they have no address, that of the request is
// used.
func infoOf(f protocol.Facts, r *http.Request) instance.HostInfo {
	address := f.IPAddress
	if address == "" && f.DNSName == "" {
		address = sourceOf(r)
	}
	return instance.HostInfo{
		Name: cut(f.Name), IPAddress: cut(address), IPv6Address: cut(f.IPv6), DNSName: cut(f.DNSName), OS: cut(f.OS), Arch: cut(f.Arch), Version: cut(f.Version), Isolation: cut(strings.Join(f.Isolation, ", ")),
		CPUMillis: f.CPUMillis, MemoryMiB: f.MemoryMiB, PortFrom: f.PortFrom, PortTo: f.PortTo,
		Engine: engineOf(f.Engine), NoBuilds: f.NoBuilds, Nodes: f.NoBuilds && f.IPAddress == "", Certificates: f.Certificates, LegacyClosed: cut(f.LegacyClosed),
	}
}

// engineOf returns the name and version of a container engine, or "".
func engineOf(e *protocol.Engine) string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(cut(e.Name + " " + e.Version))
}

// sourceOf returns the address that a request came from, without the port.
func sourceOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// cut limits text that is kept only to be shown to 255 bytes without control
// characters.
func cut(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 255)], "")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// refusing responds with the error of a handler that has not responded.
func refusing(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			refuse(w, err)
		}
	}
}

// known authenticates a host and passes its id to next.
func (s *Server) known(next func(http.ResponseWriter, *http.Request, string) error) http.HandlerFunc {
	return refusing(func(w http.ResponseWriter, r *http.Request) error {
		shown, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		hostID, secret, _ := strings.Cut(shown, ".")
		renewed, err := s.opts.Instances.AuthenticateHost(hostID, secret)
		if err == nil && renewed { // it has stored the secret but could not report that
			err = s.opts.Instances.SecretKept(store.WithActor(r.Context(), hostID), hostID, secret)
		}
		if err != nil {
			audit.From(r.Context()).SetRefused(auth.ConnectHost, err)
			s.warnings.Warn(door.Site(door.Client(r)).String(), "an agent is refused", "host_id", cut(hostID), "remote", r.RemoteAddr, "error", err)
			if !errors.Is(err, instance.ErrHostRemoved) { // that error requires the right secret
				err = s.opts.Limits.Failed(r, err)
			}
			return err
		}
		door.Known(r)
		if err := s.opts.Limits.Agent(hostID); err != nil {
			return err
		}
		return next(w, r, hostID)
	})
}

// refuse responds with an error.
func refuse(w http.ResponseWriter, err error) {
	status, message := http.StatusServiceUnavailable, "Muster cannot do that now"
	if f, ok := fault.As(err); ok {
		message = f.Message
		switch f.Kind {
		case fault.Unauthorized:
			status = http.StatusUnauthorized
		case fault.LimitExceeded:
			status = http.StatusInsufficientStorage
		case fault.InternalService:
			status, message = http.StatusInternalServerError, "internal error"
		default:
			status = f.Kind.HTTPStatus()
		}
	}
	if errors.Is(err, instance.ErrHostRemoved) {
		status = http.StatusGone
	}
	limit.Advise(w.Header(), err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(protocol.Refusal{Message: message})
}
