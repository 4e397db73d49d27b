package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/backup"
	"github.com/musterhq/muster/internal/store/sqlite"
	"github.com/musterhq/muster/notify"
)

// Backup writes the state to a new file, a SQLite database, while a server may
// be at work on it. The master key is not in it and has to be kept as well.
func Backup(ctx context.Context, o Options, file string) error {
	d, err := inspect(&o, o.driver)
	if err != nil {
		return err
	}
	return backup.Write(ctx, d.store, o.driver(), file)
}

// Restore fills an empty store from a backup.
func Restore(ctx context.Context, o Options, file string) error {
	d, err := inspect(&o, o.driver)
	if err != nil {
		return err
	}
	if err := backup.Restore(ctx, d.store, file); errors.Is(err, store.ErrNotEmpty) {
		return fmt.Errorf("%w: restore to a data directory or database where there is nothing yet", err)
	} else if err != nil {
		return err
	}
	return nil
}

// Verify checks everything that is kept, or a backup where file is not "".
func Verify(ctx context.Context, o Options, file string) (store.Report, error) {
	driver := o.driver
	if file != "" {
		if _, err := os.Stat(file); err != nil {
			return store.Report{}, fmt.Errorf("verify: %w", err)
		}
		driver = func() store.Driver { return sqlite.File(file) }
	}
	d, err := inspect(&o, driver)
	if err != nil {
		return store.Report{}, err
	}
	report, err := d.store.Verify(ctx)
	if err != nil || len(report.Problems) > 0 {
		return report, err
	}
	if err := d.store.Inspect(ctx); err != nil {
		return report, err
	}
	chain, err := d.audit.Verify(ctx)
	if chain.Problem != "" {
		report.Problems = append(report.Problems, "audit log: "+chain.Problem)
	}
	return report, errors.Join(err, d.store.Close())
}

// Replay runs a recording again in memory and compares each command's changes
// with what was recorded.
func Replay(ctx context.Context, o Options, file string) (store.ReplayReport, error) {
	f, err := os.Open(file)
	if err != nil {
		return store.ReplayReport{}, fmt.Errorf("replay: %w", err)
	}
	defer f.Close()
	d, err := inspect(&o, func() store.Driver { return store.NewMemory() })
	if err != nil {
		return store.ReplayReport{}, err
	}
	report, err := store.Replay(ctx, d.store, f)
	return report, errors.Join(err, d.store.Close())
}

// inspect makes the domain on a store that is not going to serve: nothing is
// signed or unsealed, so no master key is read or made.
func inspect(o *Options, driver func() store.Driver) (*domain, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	if err != nil {
		return nil, err
	}
	return newDomain(o, driver(), master, notify.Options{})
}

// Key is an access key without its secret.
type Key struct {
	ID, Name, Role, Created string
}

// Keys changes access keys while no server has the state.
type Keys struct{ domain *domain }

// OpenKeys takes the state; Close lets it go. It fails where a server has it: a
// data directory is locked, and for PostgreSQL, where another's hold cannot be
// seen, the caller has to say that the servers are stopped.
func OpenKeys(ctx context.Context, o Options, stopped bool) (*Keys, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.usesPostgres() && !stopped {
		return nil, errors.New("keys: this takes the state from any server on the same PostgreSQL; stop the servers, then say --servers-are-stopped")
	}
	if err := o.makeDataDir(); err != nil {
		return nil, err
	}
	master, err := o.masterKey()
	if err != nil {
		return nil, err
	}
	d, err := newDomain(&o, o.driver(), master, notify.Options{})
	if err != nil {
		return nil, err
	}
	if err := d.store.Open(ctx); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return &Keys{d}, nil
}

// Close lets the state go.
func (k *Keys) Close() error { return k.domain.store.Close() }

// Create makes a key; the answer is the only place where its secret is.
func (k *Keys) Create(ctx context.Context, name, role string) (auth.Credentials, error) {
	return k.domain.keys.Create(store.WithActor(ctx, "terminal"), name, auth.Role(role))
}

// Delete removes a key.
func (k *Keys) Delete(ctx context.Context, id string) error {
	return k.domain.keys.Delete(store.WithActor(ctx, "terminal"), id)
}

// List gives every key, by id.
func (k *Keys) List() []Key {
	keys := []Key{}
	for key := range k.domain.keys.Keys(k.domain.store.View()) {
		keys = append(keys, Key{key.ID, key.Name, string(key.Role), key.Created.Format("2006-01-02T15:04:05Z07:00")})
	}
	return keys
}
