package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/admin"
	"github.com/musterhq/muster/audit"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/store/backup"
	"github.com/musterhq/muster/internal/store/sqlite"
)

// nameStore is what to do if the state is not in a data directory.
const nameStore = "its PostgreSQL with --store"

// Backup writes the state of a region to a new file, a SQLite database; a server may be running on
// it. It does not contain the master key, which must be kept as well.
func Backup(ctx context.Context, o Options, file string) error {
	d, err := inspect(&o, o.driver)
	if err != nil {
		return err
	}
	if err := o.fileExists(nameStore); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	region, err := storedRegion(ctx, o.driver(), o.Cell)
	if err == nil {
		err = checkRegion(&o, "the state", region)
	}
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return backup.Write(ctx, d.store, o.driver(), file)
}

// Restore fills an empty store from a backup.
func Restore(ctx context.Context, o Options, file string) error {
	d, err := inspect(&o, o.driver)
	if err != nil {
		return err
	}
	if err := o.checkBackup(ctx, file); err != nil {
		return err
	}
	if err := backup.Restore(ctx, d.store, file); errors.Is(err, store.ErrNotEmpty) {
		return fmt.Errorf("%w: restore to a data directory or database where there is nothing yet", err)
	} else if err != nil {
		return err
	}
	return nil
}

// readBackup returns of which cell and region a backup is: the region is "" if the deployment
// always had one.
func readBackup(ctx context.Context, file string) (cell, region string, err error) {
	cells, err := sqlite.Cells(ctx, file)
	switch {
	case err != nil:
		return "", "", err
	case len(cells) == 0:
		return "", "", errors.New("it has no state of Muster: name a file that 'muster admin backup' wrote")
	case len(cells) > 1:
		return "", "", fmt.Errorf("it has the states %s, and a backup has one: name a file that 'muster admin backup' wrote", strings.Join(cells, ", "))
	}
	region, err = storedRegion(ctx, sqlite.File(file), cells[0])
	return cells[0], region, err
}

// checkBackup refuses a backup of another region than the one to restore, and one that was
// sealed under another master key than the existing one. If there is none yet, the start will
// require it.
func (o *Options) checkBackup(ctx context.Context, file string) error {
	cell, region, err := readBackup(ctx, file)
	switch {
	case err != nil:
		return fmt.Errorf("restore %s: %w", file, err)
	case cell != o.Cell && region != "":
		return fmt.Errorf("restore %s: it is of the region %s, and the state that would be filled is that of %s: name the regions of the deployment with --regions, in their order, and --region %s", file, region, o.Region, region)
	case cell != o.Cell:
		return fmt.Errorf("restore %s: it is of the cell %q: name that with --cell", file, cell)
	}
	key, err := o.masterKey()
	if err != nil || key.made() {
		return err
	}
	// A state whose first start was cut short does not say which key it needs.
	fingerprint, err := sealedUnder(ctx, sqlite.File(file), o.Cell)
	if err == nil && fingerprint != "" && fingerprint != key.Fingerprint() {
		return fmt.Errorf("restore %s: %w", file, key.other())
	}
	return nil
}

// Verified is what Verify found.
type Verified struct {
	store.Report
	Region string `json:"region,omitzero"` // of the state, "" if the deployment always had one
	// MissingBuilds are the builds whose files are not in the directory of contents; nil for a
	// backup, which has none.
	MissingBuilds []string `json:"missing_builds,omitempty"`
}

// Verify checks the whole state, or a backup of any region if file is not "".
func Verify(ctx context.Context, o Options, file string) (found Verified, err error) {
	driver, what := o.driver, "the state"
	if file != "" {
		if _, err := os.Stat(file); err != nil {
			return found, fmt.Errorf("verify: %w", err)
		}
		driver, what = func() store.Driver { return sqlite.File(file) }, file
	}
	if err := setRegion(&o); err != nil {
		return found, err
	}
	if file != "" {
		if o.Cell, found.Region, err = readBackup(ctx, file); err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	} else if err = o.fileExists(nameStore); err == nil {
		found.Region, err = storedRegion(ctx, driver(), o.Cell)
	}
	if err == nil {
		err = checkRegion(&o, what, found.Region)
	}
	if err != nil {
		return found, fmt.Errorf("verify: %w", err)
	}
	o.Region = cmp.Or(found.Region, o.Region)
	d, err := newUnserved(&o, driver())
	if err != nil {
		return found, err
	}
	if found.Report, err = d.store.Verify(ctx); err != nil || len(found.Problems) > 0 {
		return found, err
	}
	if err := d.store.Inspect(ctx); err != nil {
		return found, err
	}
	chain, err := d.audit.Verify(ctx)
	if chain.Problem != "" {
		found.Problems = append(found.Problems, "audit log: "+chain.Problem)
	}
	if _, err := os.Stat(o.blobDir()); file == "" && (err == nil || !o.usesPostgres()) { // with PostgreSQL it may be on another machine
		found.MissingBuilds = d.missingBuilds()
	}
	return found, errors.Join(err, d.store.Close())
}

// missingBuilds returns the names and ids of the builds whose files are not in the directory of contents.
func (d *domain) missingBuilds() (all []string) {
	for _, b := range d.builds.Missing(d.store.View()) {
		all = append(all, cmp.Or(b.Name, "a build")+" ("+b.ID+")")
	}
	return all
}

// Replay runs a recording again in memory and compares each command's changes with the
// recorded ones.
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

// inspect builds the domain of the region that the options name on a store that is not going to
// serve.
func inspect(o *Options, driver func() store.Driver) (*domain, error) {
	if err := setRegion(o); err != nil {
		return nil, err
	}
	return newUnserved(o, driver())
}

// setRegion makes the options those of the region that they name, for work without a server.
func setRegion(o *Options) error {
	o.named = len(o.Regions) > 0 || cmp.Or(o.Region, DefaultRegion) != DefaultRegion
	o.setDefaults()
	if err := o.validate(); err != nil {
		return err
	}
	*o = *o.in(o.Region)
	return nil
}

// newUnserved builds the domain on a store that is not going to serve: nothing is signed or
// unsealed, so no master key is read or created.
func newUnserved(o *Options, driver store.Driver) (*domain, error) {
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	if err != nil {
		return nil, err
	}
	return newDomain(o, driver, master, nil)
}

// Keys changes access keys while no server has the state.
type Keys struct {
	domain *domain
	user   string // of the operating system
	door   *admin.Door
}

// OpenKeys opens an existing state; Close closes it. It fails if a server has the state:
// a data directory is locked, and for PostgreSQL, where that cannot be detected, the
// caller must state that the servers are stopped. It creates nothing: no data directory,
// no database, no master key.
func OpenKeys(ctx context.Context, o Options, stopped bool) (*Keys, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if !o.isHome() {
		return nil, fmt.Errorf("keys: they are in the home region %s; leave region out", o.regions()[0])
	}
	if err := o.stateExists(ctx, stopped); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	key, err := o.masterKey()
	if err != nil {
		return nil, err
	}
	if key.made() {
		return nil, fmt.Errorf("keys: %w", key.missing())
	}
	d, err := newDomain(&o, o.driver(), key.Master, nil)
	if err != nil {
		return nil, err
	}
	if err := d.store.Open(ctx); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	if err := adopt(ctx, d, &key); err != nil {
		return nil, errors.Join(fmt.Errorf("keys: %w", err), d.store.Close())
	}
	who := "another user"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return &Keys{d, who, admin.New(admin.Options{Store: d.store, Keys: d.keys, Allow: fromTerminal, Logger: o.Logger})}, nil
}

// fromTerminal allows every action, since a user who can open the state may do anything, and
// records it in the audit log.
func fromTerminal(r *http.Request, _ []byte, action auth.Action, resources ...string) (auth.Caller, error) {
	caller := auth.Caller{Name: "terminal", Role: auth.Admin, Local: true}
	audit.From(r.Context()).SetCaller(caller, action, resources...)
	return caller, nil
}

// stateExists refuses offline work on a state that does not exist, or that is not where
// the options say.
func (o *Options) stateExists(ctx context.Context, stopped bool) error {
	switch {
	case o.Store == "memory":
		return errors.New("a state in memory has no keys beyond its server's life; ask the running server instead")
	case o.usesPostgres():
		if !stopped {
			return errors.New("this takes the state from any server on the same PostgreSQL; stop the servers, then say --servers-are-stopped, or leave --offline out to ask a running one")
		}
		if _, err := sealedUnder(ctx, o.driver(), o.Cell); err != nil {
			return fmt.Errorf("there is no state of a cell %q in that PostgreSQL, or it is of an older release (start a server once): %w", o.Cell, err)
		}
		return nil
	}
	if _, err := os.Stat(o.file("node.id")); err == nil {
		return fmt.Errorf("data directory %s belongs to a server on PostgreSQL, which has the state: say --store postgres://…, or leave --offline out to ask a running server", o.DataDir)
	}
	return o.fileExists("leave --offline out to ask a running server")
}

// fileExists returns an error if the state is to be in a data directory that has none. or is
// what the caller can do besides naming another directory.
func (o *Options) fileExists(or string) error {
	if o.Store == "memory" || o.usesPostgres() {
		return nil
	}
	dir := cmp.Or(o.directory, o.DataDir)
	_, err := os.Stat(filepath.Join(dir, "muster.db"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data directory %s holds no state: name the server's with --data, or %s", dir, or)
	}
	return err
}

// RoundTrip answers a request as the administrators' door of a running server does
// (http.RoundTripper).
func (k *Keys) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	ctx, request := k.domain.audit.Begin(r.Context(), "offline", func() audit.Origin {
		return audit.Origin{Source: "user " + k.user}
	})
	a := &answer{header: http.Header{}, status: http.StatusOK}
	k.door.ServeHTTP(a, r.WithContext(ctx))
	request.End(outcomeOf(a.status))
	return &http.Response{
		StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
	}, r.Body.Close()
}

// answer is an http.ResponseWriter in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// Close closes the state, once the requests are recorded.
func (k *Keys) Close() error {
	k.domain.flush()
	return k.domain.store.Close()
}
