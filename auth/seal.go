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
type Master struct {
	key    []byte
	sealer cipher.AEAD // of secrets
	tokens []byte      // the key of compute tokens
}

// NewMaster returns a Master for a master key of MasterKeySize bytes.
func NewMaster(key []byte) (*Master, error) {
	if len(key) != MasterKeySize {
		return nil, fmt.Errorf("master key: %d bytes, want %d", len(key), MasterKeySize)
	}
	m := &Master{key: key}
	block, err := aes.NewCipher(m.derive("muster seal v1"))
	if err != nil {
		return nil, err
	}
	if m.sealer, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	m.tokens = m.derive("muster compute token v1")
	return m, nil
}

// derive returns a key for one purpose, so that no key serves two.
func (m *Master) derive(purpose string) []byte {
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// seal encrypts a secret; label binds the result to what it belongs to.
func (m *Master) seal(secret, label string) []byte {
	nonce := make([]byte, m.sealer.NonceSize())
	rand.Read(nonce)
	return m.sealer.Seal(nonce, nonce, []byte(secret), []byte(label))
}

// open decrypts the result of seal with the same label.
func (m *Master) open(sealed []byte, label string) (string, error) {
	n := m.sealer.NonceSize()
	if len(sealed) < n {
		return "", errors.New("sealed secret is too short")
	}
	plain, err := m.sealer.Open(nil, sealed[:n], sealed[n:], []byte(label))
	if err != nil {
		return "", fmt.Errorf("open sealed secret of %s: the master key is not the one it was sealed with: %w", label, err)
	}
	return string(plain), nil
}
