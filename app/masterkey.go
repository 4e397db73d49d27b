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
	text string // to be kept, of a key that was made just now; "" of one that was read
}

// masterKey reads the deployment's master key. Where there is none it makes one,
// which is kept once it is known that no state needs another.
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

// made reports whether the key was made just now and is not kept yet.
func (m *masterKey) made() bool { return m.text != "" }

// missing says that there is a state and no master key for it.
func (m *masterKey) missing() error {
	return fmt.Errorf("master key: %s does not exist, but there is a state that was sealed under one; without it no access key and no token of that state is good, and none was made: put back the master key that belongs to the state (a backup does not hold it), or name its file with --master-key-file", m.path)
}

// other says that the master key is not that of the state.
func (m *masterKey) other() error {
	return fmt.Errorf("master key: %w than %s; nothing was changed: put the master key that belongs to the state there, or name its file with --master-key-file", auth.ErrOtherMaster, m.path)
}

// keep writes a key that was made just now.
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

// adoptMaster holds the state, which has just been opened, to the master key. The
// first start on an empty state keeps a new one.
func (a *App) adoptMaster(ctx context.Context) error {
	return adopt(ctx, a.domain, &a.masterKey)
}

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

// sealedUnder returns the fingerprint of the master key that a state is sealed
// under, without opening it; "" where it does not say. There must be a state.
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
