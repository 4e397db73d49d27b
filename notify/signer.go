package notify

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"time"

	"github.com/musterhq/muster/internal/atomicfile"
)

// signer signs messages as Amazon SNS does, with our own key and a certificate that
// subscribers fetch from us.
type signer struct {
	key         *rsa.PrivateKey
	certificate []byte // PEM
	fingerprint string // of the certificate, 32 hex digits
}

const (
	signerLife  = 10 * 365 * 24 * time.Hour
	signerRenew = 30 * 24 * time.Hour // a new one is created this long before its end
	keyBits     = 2048
)

// loadSigner reads the key and certificate from a PEM file. If there is none, or the
// certificate ends soon, it creates new ones and writes them there.
func loadSigner(file string, now time.Time) (*signer, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return makeSigner(file, now)
	}
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	s, ends, err := parseSigner(text)
	if err != nil {
		return nil, fmt.Errorf("read signing key %s: %w", file, err)
	}
	if now.After(ends.Add(-signerRenew)) {
		return makeSigner(file, now)
	}
	return s, nil
}

func parseSigner(text []byte) (s *signer, ends time.Time, err error) {
	certificate, rest := pem.Decode(text)
	if certificate == nil || certificate.Type != "CERTIFICATE" {
		return nil, ends, errors.New("it does not begin with a certificate")
	}
	secret, _ := pem.Decode(rest)
	if secret == nil || secret.Type != "PRIVATE KEY" {
		return nil, ends, errors.New("no private key follows the certificate")
	}
	leaf, err := x509.ParseCertificate(certificate.Bytes)
	if err != nil {
		return nil, ends, err
	}
	private, err := x509.ParsePKCS8PrivateKey(secret.Bytes)
	if err != nil {
		return nil, ends, err
	}
	key, ok := private.(*rsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(leaf.PublicKey) {
		return nil, ends, errors.New("the key is no RSA key of the certificate")
	}
	sum := sha256.Sum256(certificate.Bytes)
	return &signer{
		key: key, certificate: pem.EncodeToMemory(certificate), fingerprint: hex.EncodeToString(sum[:16]),
	}, leaf.NotAfter, nil
}

func makeSigner(file string, now time.Time) (*signer, error) {
	text, err := newPair(now)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	if err := atomicfile.Write(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("keep signing key: %w", err)
	}
	s, _, err := parseSigner(text)
	return s, err
}

// newPair returns a self-signed certificate and its key, as PEM.
func newPair(now time.Time) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Muster notifications"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(signerLife),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}

// sign sets the signature of a message and the URL of its certificate.
func (s *signer) sign(m *snsMessage, version string, urls links) error {
	var digest []byte
	hash := crypto.SHA1 // the hash of signatures of version 1
	if version == "2" {
		hash = crypto.SHA256
		sum := sha256.Sum256([]byte(m.canonical()))
		digest = sum[:]
	} else {
		sum := sha1.Sum([]byte(m.canonical()))
		digest = sum[:]
	}
	signature, err := rsa.SignPKCS1v15(nil, s.key, hash, digest)
	if err != nil {
		return fmt.Errorf("sign message %s: %w", m.MessageID, err)
	}
	m.SignatureVersion = version
	m.Signature = base64.StdEncoding.EncodeToString(signature)
	m.SigningCertURL = urls.certificate(s)
	return nil
}
