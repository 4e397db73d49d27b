package hosts

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/musterhq/muster/certificate"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Bounds of a request for a certificate, in bytes.
const (
	maxCertificateRequest = 16 << 10
	maxCertificatePath    = 1024 // as in the API, RegisterCompute
)

// namesOf returns what the certificate of an instance is for: the host's DNS name, if the
// host joined with it, and the IP addresses at which players reach the instance.
func (s *Server) namesOf(r store.Reader, a instance.Assignment) protocol.Certificate {
	at := a.Computes[0]
	names := protocol.Certificate{IPAddress: at.IPAddress, IPv6: at.IPv6Address}
	if h := s.opts.Instances.Host(r, a.HostID); h != nil && at.DNSName == h.JoinedAs {
		names.DNSName = at.DNSName
	}
	return names
}

// certificate signs a certificate for the game servers of an instance that the host runs,
// and records where the agent will store it.
func (s *Server) certificate(w http.ResponseWriter, r *http.Request, hostID string) error {
	view := s.opts.Store.View()
	var at *instance.Assignment
	for _, a := range s.opts.Instances.Assignments(view, hostID) {
		if a.ID == r.PathValue("instance") && a.Fleet.Certificates() && s.opts.Certificates != nil {
			at = &a
		}
	}
	if at == nil {
		return fault.Missing("instance %s is not one that needs a certificate on this host", cut(r.PathValue("instance")))
	}
	var in protocol.CertificateRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCertificateRequest)).Decode(&in); err != nil {
		return fault.Invalid("the request for a certificate cannot be read: %v", err)
	}
	if in.Path == "" || len(in.Path) > maxCertificatePath || hasControls(in.Path) {
		return fault.Invalid("Path: it must have 1 to %d bytes, and no control characters", maxCertificatePath)
	}
	wanted := s.namesOf(view, *at)
	names := certificate.Names{DNS: wanted.DNSName}
	for _, text := range []string{wanted.IPAddress, wanted.IPv6} {
		if ip, err := netip.ParseAddr(text); err == nil {
			names.IPs = append(names.IPs, ip)
		}
	}
	if names.DNS == "" && len(names.IPs) == 0 {
		return fault.Invalid("the host has no IP address, and its DNS name %q is not the one with which it joined: certificates have names that were accepted at join, so let it join again", at.Computes[0].DNSName)
	}
	ctx := store.WithActor(r.Context(), hostID)
	leaf, root, err := s.opts.Certificates.Issue(ctx, in.Request, names, time.Now())
	if err != nil {
		return err
	}
	if err := s.opts.Computes.SetCertificate(ctx, at.Computes[0], in.Path); err != nil {
		return err
	}
	s.log.Info("a certificate is signed", "host_id", hostID, "instance", at.ID, "dns_name", names.DNS, "addresses", names.IPs)
	answer(w, protocol.CertificateResponse{Certificate: leaf, Chain: root, Root: root})
	return nil
}

// root serves the authority's certificate to anyone: it is public.
func (s *Server) root(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Certificates == nil {
		return fault.Missing("this server signs no certificates")
	}
	c, err := s.opts.Certificates.Root(r.Context(), time.Now())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-pem-file")
	_, err = w.Write(certificate.Encode(c.Raw))
	return err
}

func hasControls(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl)
}
