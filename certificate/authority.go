// Package certificate is the authority for the TLS certificates of game servers on managed
// fleets with CertificateType GENERATED.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// The lives of certificates.
const (
	RootLife = 10 * 365 * 24 * time.Hour // of the authority's own
	Renewed  = 365 * 24 * time.Hour      // a new root, with the same key, is issued this long before the end of the old one
	Life     = 30 * 24 * time.Hour       // of a game server's
	early    = 5 * time.Minute           // certificates begin in the past, for clocks that are slow
)

// maxRequest bounds a certificate signing request in bytes.
const maxRequest = 4 << 10

// Key returns the private key of the authority; derive returns 32 bytes for a purpose
// (auth.Master.Derive).
func Key(derive func(purpose string) []byte) (*ecdsa.PrivateKey, error) {
	for n := range 8 { // a derived number is out of range about once in 2^32
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), derive(fmt.Sprintf("certificates of game servers %d", n)))
		if err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("derive the key of certificates: no number is in range")
}

// NewRoot returns the authority's certificate, in DER.
func NewRoot(key *ecdsa.PrivateKey, now time.Time) ([]byte, error) {
	return x509.CreateCertificate(rand.Reader, template(pkix.Name{CommonName: "Muster game servers"}, now, now.Add(RootLife), true),
		template(pkix.Name{CommonName: "Muster game servers"}, now, now.Add(RootLife), true), key.Public(), key)
}

func template(subject pkix.Name, now, end time.Time, root bool) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	c := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: subject, NotBefore: now.Add(-early), NotAfter: end, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if root {
		c.IsCA, c.MaxPathLenZero, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	}
	return c
}

// Names are what a certificate is for. Muster decides them; those in a request are ignored.
type Names struct {
	DNS string // "": none
	IPs []netip.Addr
}

// Check returns the public key in a certificate signing request, in DER. The request must
// be signed with the private key, which must be on the curve P-256. Errors: InvalidRequest.
func Check(request []byte) (*ecdsa.PublicKey, error) {
	if len(request) > maxRequest {
		return nil, fault.Invalid("the certificate request has %d bytes; at most %d are possible", len(request), maxRequest)
	}
	r, err := x509.ParseCertificateRequest(request)
	if err != nil {
		return nil, fault.Invalid("the certificate request cannot be read: %v", err)
	}
	key, ok := r.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fault.Invalid("the certificate request must have an ECDSA key on the curve P-256")
	}
	if err := r.CheckSignature(); err != nil {
		return nil, fault.Invalid("the certificate request is not signed with its own key")
	}
	return key, nil
}

// Sign returns a certificate for a public key and names, in DER.
func Sign(root *x509.Certificate, key *ecdsa.PrivateKey, public *ecdsa.PublicKey, names Names, now time.Time) ([]byte, error) {
	end := now.Add(Life)
	if root.NotAfter.Before(end) {
		end = root.NotAfter
	}
	c := template(pkix.Name{}, now, end, false)
	if names.DNS != "" {
		if !isHostname(names.DNS) {
			return nil, fault.Invalid("the DNS name %q is none of a host", names.DNS)
		}
		c.DNSNames = []string{names.DNS}
	}
	for _, ip := range names.IPs {
		c.IPAddresses = append(c.IPAddresses, ip.Unmap().AsSlice())
	}
	if len(c.DNSNames)+len(c.IPAddresses) == 0 {
		return nil, fault.Invalid("the compute has neither a DNS name nor an IP address for a certificate")
	}
	return x509.CreateCertificate(rand.Reader, c, root, public, key)
}

// isHostname reports whether a name is that of one host: not an address, and without
// wildcards.
func isHostname(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		if label == "" || len(label) > 63 || strings.Trim(label, characters) != "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}
