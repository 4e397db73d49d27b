package auth

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"iter"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Key is an operator's access key without its secret.
type Key struct {
	ID      string    `json:"id"` // access key id, 20 characters like AWS's
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Sealed  []byte    `json:"sealed"`
	Created time.Time `json:"created"`
}

// Credentials are a new key with its secret, which is shown once.
type Credentials struct {
	AccessKeyID, SecretAccessKey string
}

// Service keeps access keys.
type Service struct {
	st     *store.Store
	master *Master
	events *event.Log
	keys   *store.Table[Key]
	create *store.Command[Key, struct{}]
	del    *store.Command[string, struct{}]
}

// New registers the key table and commands on the store.
func New(st *store.Store, events *event.Log, master *Master) *Service {
	s := &Service{st: st, master: master, events: events}
	s.keys = store.NewTable(st, store.TableSpec[Key]{Name: "access_key", Key: func(k *Key) string { return k.ID }})
	s.create = store.NewCommand(st, "key.create", func(tx *store.Tx, k Key) (struct{}, error) {
		k.Created = tx.Now()
		s.keys.Put(tx, &k)
		events.Append(tx, event.Event{Code: event.KeyCreated, Resource: k.ID, Message: k.Name + " (" + string(k.Role) + ")"})
		return struct{}{}, nil
	})
	s.del = store.NewCommand(st, "key.delete", func(tx *store.Tx, id string) (struct{}, error) {
		if !s.keys.Delete(tx, id) {
			return struct{}{}, fault.Missing("access key %s does not exist", id)
		}
		events.Append(tx, event.Event{Code: event.KeyDeleted, Resource: id})
		return struct{}{}, nil
	})
	return s
}

// Create makes a key of a role. The secret is in the answer and nowhere else.
// Errors: InvalidRequest (unknown role).
func (s *Service) Create(ctx context.Context, name string, role Role) (Credentials, error) {
	if !role.Valid() {
		return Credentials{}, fault.Invalid("role %q is none of %v", role, roles)
	}
	c := Credentials{newKeyID(), newSecret()}
	_, err := s.create.Do(ctx, Key{ID: c.AccessKeyID, Name: name, Role: role, Sealed: s.master.seal(c.SecretAccessKey, c.AccessKeyID)})
	return c, err
}

// Delete removes a key; requests signed with it are refused from then on. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, id string) error {
	_, err := s.del.Do(ctx, id)
	return err
}

// Keys gives every key, by id.
func (s *Service) Keys(r store.Reader) iter.Seq[*Key] { return s.keys.All(r) }

// Secret returns the secret of a key, for its signatures to be checked; !ok where
// the key is not known or was sealed with another master key.
func (s *Service) Secret(id string) (secret string, ok bool) {
	k := s.keys.Get(s.st.View(), id)
	if k == nil {
		return "", false
	}
	secret, err := s.master.open(k.Sealed, k.ID)
	return secret, err == nil
}

// Caller returns who signs with a key. Ask once the signature has proved good.
// Errors: UnrecognizedClient.
func (s *Service) Caller(id string) (Caller, error) {
	k := s.keys.Get(s.st.View(), id)
	if k == nil {
		return Caller{}, fault.New(fault.UnrecognizedClient, "access key %s was deleted", id)
	}
	return Caller{KeyID: k.ID, Name: k.Name, Role: k.Role}, nil
}

func newKeyID() string {
	b := make([]byte, 10)
	rand.Read(b)
	return "MSTR" + base32.StdEncoding.EncodeToString(b)
}

func newSecret() string {
	b := make([]byte, 30)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}
