package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// MasterKeySize is the length of a deployment's master key in bytes.
const MasterKeySize = 32

// Master derives keys from a deployment's master key.
type Master struct{ key []byte }

// NewMaster returns a Master for a master key of MasterKeySize bytes.
func NewMaster(key []byte) (*Master, error) {
	if len(key) != MasterKeySize {
		return nil, fmt.Errorf("master key: %d bytes, want %d", len(key), MasterKeySize)
	}
	return &Master{key: key}, nil
}

// derive returns a key for one purpose, so that no key serves two.
func (m *Master) derive(purpose string) []byte {
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

func (m *Master) aead() cipher.AEAD {
	block, err := aes.NewCipher(m.derive("muster seal v1"))
	if err != nil {
		panic(err) // the derived key always has 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// seal encrypts a secret; label binds the result to what it belongs to.
func (m *Master) seal(secret, label string) []byte {
	aead := m.aead()
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce)
	return aead.Seal(nonce, nonce, []byte(secret), []byte(label))
}

// open decrypts the result of seal with the same label.
func (m *Master) open(sealed []byte, label string) (string, error) {
	aead := m.aead()
	if len(sealed) < aead.NonceSize() {
		return "", errors.New("sealed secret is too short")
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], []byte(label))
	if err != nil {
		return "", fmt.Errorf("open sealed secret of %s: the master key is not the one it was sealed with: %w", label, err)
	}
	return string(plain), nil
}
