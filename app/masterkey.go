package app

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/musterhq/muster/auth"
)

// masterKey gives the deployment's master key: a new one that is kept, where
// there is none.
func (o *Options) masterKey() (*auth.Master, error) {
	path := o.MasterKeyFile
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newMasterKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read master key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("read master key: %s does not hold %d hex digits", path, 2*auth.MasterKeySize)
	}
	return auth.NewMaster(key)
}

func newMasterKey(path string) (*auth.Master, error) {
	key := make([]byte, auth.MasterKeySize)
	rand.Read(key)
	if err := writeSecret(path, hex.EncodeToString(key)+"\n"); err != nil {
		return nil, fmt.Errorf("keep master key: %w", err)
	}
	return auth.NewMaster(key)
}

// writeSecret writes a file that only its owner can read, durably, and never
// over one that exists.
func writeSecret(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
