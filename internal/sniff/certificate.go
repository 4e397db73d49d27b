package sniff

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/atomicfile"
)

// The files of a self-signed certificate: the pair of certificate and key, and the
// certificate alone for clients that verify it (SSL_CERT_FILE).
const (
	PairFile        = "server-tls.pem"
	CertificateFile = "server-cert.pem"
)

// The lifetime of a self-signed certificate, and how long before its end it is
// renewed.
const (
	life  = 2 * 365 * 24 * time.Hour
	renew = 30 * 24 * time.Hour
)

// Config is a TLS configuration for game servers and AWS clients: TLS 1.2 and
// later, HTTP/1.1.
func Config(certificate tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"},
	}
}

// SelfSigned returns the certificate in dir if it covers all the hosts (names or IP
// addresses) and does not expire soon; otherwise it creates one and stores it there.
func SelfSigned(dir string, hosts []string, now time.Time) (tls.Certificate, error) {
	pair := filepath.Join(dir, PairFile)
	c, err := tls.LoadX509KeyPair(pair, pair)
	if err == nil && serves(c.Leaf, hosts, now) {
		return c, publish(dir, c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, fmt.Errorf("read %s: %w", pair, err)
	}
	made, err := sign(hosts, now)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make certificate: %w", err)
	}
	if err := atomicfile.Write(pair, made, 0o600); err != nil {
		return tls.Certificate{}, fmt.Errorf("keep certificate: %w", err)
	}
	if c, err = tls.X509KeyPair(made, made); err != nil {
		return tls.Certificate{}, fmt.Errorf("read made certificate: %w", err)
	}
	return c, publish(dir, c)
}

// publish writes the certificate without its key.
func publish(dir string, c tls.Certificate) error {
	if err := atomicfile.Write(filepath.Join(dir, CertificateFile), block("CERTIFICATE", c.Certificate[0]), 0o644); err != nil {
		return fmt.Errorf("publish certificate: %w", err)
	}
	return nil
}

// serves reports whether a certificate covers all hosts, now and for a while.
func serves(leaf *x509.Certificate, hosts []string, now time.Time) bool {
	for _, host := range hosts {
		if leaf.VerifyHostname(host) != nil {
			return false
		}
	}
	return now.After(leaf.NotBefore) && now.Before(leaf.NotAfter.Add(-renew))
}

// sign creates a key and a self-signed certificate, as PEM.
func sign(hosts []string, now time.Time) (pair []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "Muster self-signed"}, // a random serial number is added
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	return append(block("CERTIFICATE", der), block("PRIVATE KEY", secret)...), nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
