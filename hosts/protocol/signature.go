package protocol

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
)

// buildDomain separates signatures of builds from signatures of anything else.
const buildDomain = "muster build signature v1"

// signed returns the bytes that the signature of a build covers: the domain and every
// member except the signature, each text preceded by its length, so that no two builds
// have the same bytes.
func (b Build) signed() []byte {
	var all []byte
	for _, text := range []string{buildDomain, b.ID, b.SHA256, b.Format} {
		all = binary.BigEndian.AppendUint64(all, uint64(len(text)))
		all = append(all, text...)
	}
	return binary.BigEndian.AppendUint64(all, uint64(b.Size))
}

// Sign returns the build with its signature.
func (b Build) Sign(key ed25519.PrivateKey) Build {
	b.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, b.signed()))
	return b
}

// Errors of Verify.
var (
	errNoBuildKey  = errors.New("this machine does not know yet with which key Muster signs builds; it learns that from a server that does so")
	errNoSignature = errors.New("the signature of Muster is missing; a server that is older than this agent does not sign")
)

// Verify returns an error, with a text for people, if the build was not signed by the
// owner of key.
func (b Build) Verify(key ed25519.PublicKey) error {
	signature, err := base64.StdEncoding.DecodeString(b.Signature)
	switch {
	case len(key) != ed25519.PublicKeySize:
		return errNoBuildKey
	case b.Signature == "":
		return errNoSignature
	case err != nil || !ed25519.Verify(key, b.signed(), signature):
		return errors.New("the signature is not Muster's: somebody in between changed what is to be installed, " +
			"or the server has another master key than the one with which this machine joined; " +
			"where that is so, remove credential.json from the agent's folder and join anew")
	case b.Size <= 0:
		return fmt.Errorf("the archive is said to have %d bytes", b.Size)
	}
	return nil
}
