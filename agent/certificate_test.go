//go:build unix

package agent

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/netip"
	"time"

	"github.com/musterhq/muster/certificate"
	"github.com/musterhq/muster/hosts/protocol"
)

// certificate signs a certificate for 192.0.2.1.
func (m *muster) certificate(w http.ResponseWriter, r *http.Request) {
	if !m.Allowed(w, r) {
		return
	}
	var in protocol.CertificateRequest
	err := json.NewDecoder(r.Body).Decode(&in)
	key, keyErr := certificate.Key(func(purpose string) []byte { sum := sha256.Sum256([]byte(purpose)); return sum[:] })
	if err != nil || keyErr != nil {
		m.Error(err, keyErr)
		return
	}
	root, err := certificate.NewRoot(key, time.Now())
	if err != nil {
		m.Error(err)
		return
	}
	parent, _ := x509.ParseCertificate(root)
	public, err := certificate.Check(in.Request)
	if err != nil {
		m.Error(err)
		return
	}
	leaf, err := certificate.Sign(parent, key, public, certificate.Names{IP: netip.MustParseAddr("192.0.2.1")}, time.Now())
	if err != nil {
		m.Error(err)
	}
	json.NewEncoder(w).Encode(protocol.CertificateResponse{Certificate: certificate.Encode(leaf), Chain: certificate.Encode(root), Root: certificate.Encode(root)})
}
