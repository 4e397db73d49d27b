package certificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// Authority signs the certificates of game servers. Its key is derived from the master
// key, and its own certificate is a row, so both are the same on all nodes.
type Authority struct {
	st     *store.Store
	derive func(purpose string) []byte
	rows   *store.Table[root]
	renew  *store.Command[renewal, *root]
}

// root is the authority's own certificate.
type root struct {
	Key    string `json:"key"` // always the same: there is one
	Number int    `json:"number"`
	DER    []byte `json:"der"`
}

const onlyRoot = "root"

// renewal is a root in place of another one.
type renewal struct {
	Replaces int // number of the other; 0: there was none
	DER      []byte
}

// New registers the package's table and command on the store. derive returns 32 bytes for
// a purpose (auth.Master.Derive).
func New(st *store.Store, derive func(purpose string) []byte) *Authority {
	a := &Authority{st: st, derive: derive}
	a.rows = store.NewTable(st, store.TableSpec[root]{Name: "certificate_root", Key: func(r *root) string { return r.Key }})
	a.renew = store.NewCommand(st, "certificate.root", a.runRenew)
	return a
}

func (a *Authority) runRenew(tx *store.Tx, in renewal) (*root, error) {
	old := a.rows.Get(tx, onlyRoot)
	if old != nil && old.Number != in.Replaces {
		return old, nil // another request was first
	}
	next := &root{Key: onlyRoot, Number: in.Replaces + 1, DER: in.DER}
	a.rows.Put(tx, next)
	return next, nil
}

// Root returns the authority's certificate. It creates one at the first use, a year before
// the end of the former one, and after a change of the master key.
func (a *Authority) Root(ctx context.Context, now time.Time) (*x509.Certificate, error) {
	c, _, err := a.current(ctx, now)
	return c, err
}

func (a *Authority) current(ctx context.Context, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := Key(a.derive)
	if err != nil {
		return nil, nil, err
	}
	number := 0
	if row := a.rows.Get(a.st.View(), onlyRoot); row != nil {
		c, err := x509.ParseCertificate(row.DER)
		if err == nil && key.PublicKey.Equal(c.PublicKey) && now.Before(c.NotAfter.Add(-Renewed)) {
			return c, key, nil
		}
		number = row.Number
	}
	der, err := NewRoot(key, now)
	if err != nil {
		return nil, nil, fmt.Errorf("make the authority's certificate: %w", err)
	}
	row, err := a.renew.Do(ctx, renewal{number, der})
	if err != nil {
		return nil, nil, err
	}
	c, err := x509.ParseCertificate(row.DER)
	return c, key, err
}

// Issue returns a certificate for the key of a certificate signing request, and the
// authority's own, both in PEM. Errors: InvalidRequest.
func (a *Authority) Issue(ctx context.Context, request []byte, names Names, now time.Time) (leaf, root []byte, err error) {
	public, err := Check(request)
	if err != nil {
		return nil, nil, err
	}
	c, key, err := a.current(ctx, now)
	if err != nil {
		return nil, nil, err
	}
	der, err := Sign(c, key, public, names, now)
	if err != nil {
		return nil, nil, err
	}
	return Encode(der), Encode(c.Raw), nil
}

// Encode returns a certificate in PEM.
func Encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
