package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/store"
)

// masterKey is a deployment's master key, and where it is kept.
type masterKey struct {
	*auth.Master
	path string
	text string // to be written, of a new key; "" if it was read
}

// masterKey reads the deployment's master key. If there is none it generates one, which is
// written once it is known that no state needs another.
func (o *Options) masterKey() (masterKey, error) {
	path := o.MasterKeyFile
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key := make([]byte, auth.MasterKeySize)
		rand.Read(key)
		master, err := auth.NewMaster(key)
		return masterKey{master, path, hex.EncodeToString(key) + "\n"}, err
	}
	if err != nil {
		return masterKey{}, fmt.Errorf("read master key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return masterKey{}, fmt.Errorf("read master key: %s does not hold %d hex digits", path, 2*auth.MasterKeySize)
	}
	master, err := auth.NewMaster(key)
	return masterKey{master, path, ""}, err
}

// made reports whether the key is new and not written yet.
func (m *masterKey) made() bool { return m.text != "" }

// missing is the error for a state whose master key does not exist.
func (m *masterKey) missing() error {
	return fmt.Errorf("master key: %s does not exist, but there is a state that was sealed under one; without it no access key and no token of that state is good, and none was made: put back the master key that belongs to the state (a backup does not hold it), or name its file with --master-key-file", m.path)
}

// other is the error for a master key that is not the state's.
func (m *masterKey) other() error {
	return fmt.Errorf("master key: %w than %s; nothing was changed: put the master key that belongs to the state there, or name its file with --master-key-file", auth.ErrOtherMaster, m.path)
}

// keep writes a new key.
func (m *masterKey) keep() error {
	if !m.made() {
		return nil
	}
	if err := writeSecret(m.path, m.text); err != nil {
		return fmt.Errorf("keep master key: %w", err)
	}
	m.text = ""
	return nil
}

// adopt checks that the master key is that of the state that has just been opened. The
// first start on an empty state writes a new one.
func adopt(ctx context.Context, d *domain, key *masterKey) error {
	if key.made() && d.store.View().Seq() > 0 {
		return key.missing()
	}
	if err := key.keep(); err != nil {
		return err
	}
	err := d.keys.Adopt(ctx)
	if errors.Is(err, auth.ErrOtherMaster) {
		return key.other()
	}
	return err
}

// sealedUnder returns the fingerprint of the master key under which a state is sealed,
// without opening it; "" if the state does not contain it. The state must exist.
func sealedUnder(ctx context.Context, driver store.Driver, cell string) (fingerprint string, err error) {
	db, err := driver.Inspect(ctx, cell, store.Schema{Tables: []store.TableSchema{{Name: auth.SealTable}}})
	if err != nil {
		return "", err
	}
	_, err = db.Load(ctx, func(_ int, _ string, doc []byte) error {
		fingerprint, err = auth.SealedUnder(doc)
		return err
	})
	return fingerprint, errors.Join(err, db.Close())
}

// writeSecret writes a file that only its owner can read, durably. It never overwrites an
// existing one.
func writeSecret(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
