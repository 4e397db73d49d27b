package auth

import (
	"context"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Service manages access keys and logins to the console.
type Service struct {
	st     *store.Store
	master *Master
	events *event.Log
	tagsOf func(resource string) map[string]string // nil: nothing has tags
	use    use
	opened opened

	onRevoked []func(keyID string)

	keys  *store.Table[Key]
	seals *store.Table[seal]
	used  *store.Table[Use]

	// Logins to the console, with keys and with accounts of identity providers.
	Logins *Logins

	// Delete removes the key with an id; requests signed with it are refused from then
	// on. Errors: NotFound, Conflict (the last admin key).
	Delete *store.Action[string]

	// Copy makes the keys and logins copies of the home region's.
	Copy *store.Action[Shared]

	create *store.Action[Key]
	enable *store.Command[enableArgs, *Key]
	rotate *store.Command[rotateArgs, *Key]
	adopt  *store.Action[seal]
	note   *store.Action[[]Use]
}

type enableArgs struct {
	ID      string
	Enabled bool
}

type rotateArgs struct {
	ID       string
	New      Key
	OldUntil time.Time
}

// New registers the tables and commands on the store. tags returns the tags of a
// resource, for scopes; nil means that nothing has tags.
func New(st *store.Store, events *event.Log, master *Master, tags func(r store.Reader, resource string) map[string]string) *Service {
	s := &Service{st: st, master: master, events: events}
	if tags != nil {
		s.tagsOf = func(resource string) map[string]string { return tags(st.View(), resource) }
	}
	s.keys = store.NewTable(st, store.TableSpec[Key]{Name: "access_key", Key: func(k *Key) string { return k.ID }})
	s.seals = store.NewTable(st, store.TableSpec[seal]{Name: "master_key", Key: func(v *seal) string { return v.ID }})
	s.used = store.NewTable(st, store.TableSpec[Use]{Name: "access_key_use", Key: func(u *Use) string { return u.ID }})
	s.Logins = newLogins(st, s)
	s.create = store.NewAction(st, "key.create", s.runCreate)
	s.Delete = store.NewAction(st, "key.delete", s.runDelete)
	s.enable = store.NewCommand(st, "key.enable", s.runEnable)
	s.rotate = store.NewCommand(st, "key.rotate", s.runRotate)
	s.adopt = store.NewAction(st, "key.adopt_master", s.runAdopt)
	s.note = store.NewAction(st, "key.note_use", s.runNote)
	s.Copy = store.NewAction(st, "key.copy", s.runCopy)
	return s
}

// Create creates a key. The secret is returned only here. Errors: InvalidRequest.
func (s *Service) Create(ctx context.Context, spec Spec) (Credentials, error) {
	return s.CreateKept(ctx, spec, func(Credentials) error { return nil })
}

// CreateKept is like Create, but calls keep to store the secret before the key becomes
// valid. If keep fails, no key is created.
func (s *Service) CreateKept(ctx context.Context, spec Spec, keep func(Credentials) error) (Credentials, error) {
	if err := spec.validate(time.Now()); err != nil {
		return Credentials{}, err
	}
	k, c := s.newKey(spec)
	if err := keep(c); err != nil {
		return Credentials{}, err
	}
	err := s.create.Do(ctx, k)
	return c, err
}

// newKey returns a key and its secret.
func (s *Service) newKey(spec Spec) (Key, Credentials) {
	c := Credentials{newKeyID(), newSecret()}
	return Key{
		ID: c.AccessKeyID, Name: spec.Name, Role: spec.Role, Scope: spec.Scope, Expires: spec.Expires,
		Sealed: s.master.seal(c.SecretAccessKey, c.AccessKeyID),
	}, c
}

func (s *Service) runCreate(tx *store.Tx, k Key) error {
	k.Created = tx.Now()
	s.keys.Put(tx, &k)
	s.events.Append(tx, event.Event{Code: event.KeyCreated, Resource: k.ID, Message: describe(&k)})
	return nil
}

// describe returns a description of a key for events.
func describe(k *Key) string {
	text := k.Name + " (" + string(k.Role) + ")"
	if !k.Scope.IsZero() {
		text += ", scope " + k.Scope.String()
	}
	if !k.Expires.IsZero() {
		text += ", expires " + k.Expires.UTC().Format(time.RFC3339)
	}
	return text
}

func (s *Service) runDelete(tx *store.Tx, id string) error {
	k, err := s.Key(tx, id)
	if err == nil {
		err = s.keepAdmin(tx, k, "deleted")
	}
	if err != nil {
		return err
	}
	s.keys.Delete(tx, id)
	s.used.Delete(tx, id)
	s.Logins.endOf(tx, id)
	tx.OnCommit(func() { s.opened.drop(id) })
	s.revoke(tx, id)
	s.events.Append(tx, event.Event{Code: event.KeyDeleted, Resource: id, Message: describe(k)})
	return nil
}

// SetEnabled disables a key, or enables it again. Requests signed with a disabled
// key are refused. Errors: NotFound, Conflict (the last admin key).
func (s *Service) SetEnabled(ctx context.Context, id string, enabled bool) (*Key, error) {
	return s.enable.Do(ctx, enableArgs{id, enabled})
}

func (s *Service) runEnable(tx *store.Tx, a enableArgs) (*Key, error) {
	old, err := s.Key(tx, a.ID)
	if err != nil || old.Disabled != a.Enabled {
		return old, err // nothing to change
	}
	code := event.KeyEnabled
	if !a.Enabled {
		if err := s.keepAdmin(tx, old, "disabled"); err != nil {
			return nil, err
		}
		code = event.KeyDisabled
		s.Logins.endOf(tx, old.ID)
		s.revoke(tx, old.ID)
	}
	k := *old
	k.Disabled = !a.Enabled
	s.keys.Put(tx, &k)
	s.events.Append(tx, event.Event{Code: code, Resource: k.ID, Message: describe(&k)})
	return &k, nil
}

// OnRevoked registers f to be called, after commit, when a key was deleted or disabled, or
// a login of a person was ended. It must be called before traffic.
func (s *Service) OnRevoked(f func(keyID string)) { s.onRevoked = append(s.onRevoked, f) }

func (s *Service) revoke(tx *store.Tx, id string) {
	tx.OnCommit(func() {
		for _, f := range s.onRevoked {
			f(id)
		}
	})
}

// Rotation says how a key is replaced.
type Rotation struct {
	ID       string
	Expires  time.Time // of the new key; zero: it gets the same lifetime as the old one had, from now on
	OldUntil time.Time // when the old key ends; zero: at its own expiry, or when it is deleted
}

// Rotate creates a key with the name, role and scope of another. Both are valid until
// the old one ends. Errors: NotFound, InvalidRequest, Conflict (the last admin key
// would end with both).
func (s *Service) Rotate(ctx context.Context, r Rotation) (Credentials, error) {
	now := time.Now()
	old, err := s.Key(s.st.View(), r.ID)
	if err != nil {
		return Credentials{}, err
	}
	if r.Expires.IsZero() && !old.Expires.IsZero() {
		r.Expires = now.Add(old.Expires.Sub(old.Created))
	}
	if !r.OldUntil.IsZero() && !r.OldUntil.After(now) {
		return Credentials{}, fault.Invalid("old_until: %s is not in the future", r.OldUntil.UTC().Format(time.RFC3339))
	}
	spec := Spec{Name: old.Name, Role: old.Role, Scope: old.Scope, Expires: r.Expires}
	if err := spec.validate(now); err != nil {
		return Credentials{}, err
	}
	k, c := s.newKey(spec)
	_, err = s.rotate.Do(ctx, rotateArgs{ID: r.ID, New: k, OldUntil: r.OldUntil})
	return c, err
}

func (s *Service) runRotate(tx *store.Tx, a rotateArgs) (*Key, error) {
	old, err := s.Key(tx, a.ID)
	if err != nil {
		return nil, err
	}
	k := a.New
	k.Created = tx.Now()
	ends := !a.OldUntil.IsZero() && (old.Expires.IsZero() || a.OldUntil.Before(old.Expires))
	if ends && !k.lasting() {
		if err := s.keepAdmin(tx, old, "ended"); err != nil {
			return nil, err
		}
	}
	s.keys.Put(tx, &k)
	if ends {
		ending := *old
		ending.Expires = a.OldUntil
		s.keys.Put(tx, &ending)
	}
	s.events.Append(tx, event.Event{Code: event.KeyCreated, Resource: k.ID, Message: describe(&k) + ", in place of " + old.ID})
	return &k, nil
}

// keepAdmin returns a fault if k is the last key that can manage keys and never
// expires.
func (s *Service) keepAdmin(r store.Reader, k *Key, taken string) error {
	if !k.lasting() {
		return nil
	}
	for other := range s.keys.All(r) {
		if other.ID != k.ID && other.lasting() {
			return nil
		}
	}
	return fault.New(fault.Conflict, "access key %s cannot be %s: it is the last enabled key of role admin that never expires, and without it nobody could manage keys; create another first",
		k.ID, taken)
}

// Key returns a key. Errors: NotFound.
func (s *Service) Key(r store.Reader, id string) (*Key, error) {
	k := s.keys.Get(r, id)
	if k == nil {
		return nil, fault.Missing("access key %.40q does not exist", id)
	}
	return k, nil
}

// Keys returns all keys, ordered by id.
func (s *Service) Keys(r store.Reader) iter.Seq[*Key] { return s.keys.All(r) }

// Secret returns the secret of a key, to check its signatures; ok is false if the key
// is unknown or was sealed with another master key. The key may be disabled or expired:
// Caller reports that, so that only callers that know the secret learn it.
func (s *Service) Secret(id string) (secret string, ok bool) {
	k := s.keys.Get(s.st.View(), id)
	if k == nil {
		return "", false
	}
	if secret, ok := s.opened.of(k); ok {
		return secret, true
	}
	secret, err := s.master.open(k.Sealed, k.ID)
	if err != nil {
		return "", false
	}
	s.opened.keep(k, secret)
	if s.keys.Get(s.st.View(), id) == nil { // it was deleted meanwhile
		s.opened.drop(id)
	}
	return secret, true
}

// Caller returns the caller that a key belongs to, or the person with an id, as long as
// that person has a login. Errors: UnrecognizedClient.
func (s *Service) Caller(id string) (Caller, error) {
	if isPerson(id) {
		return s.Logins.present(id)
	}
	now := time.Now()
	k := s.keys.Get(s.st.View(), id)
	switch {
	case k == nil:
		return Caller{}, fault.New(fault.UnrecognizedClient, "access key %s was deleted", id)
	case k.Disabled:
		return Caller{}, fault.New(fault.UnrecognizedClient, "access key %s is disabled; use another, or 'muster admin keys enable %s'", id, id)
	case k.Expired(now):
		return Caller{}, fault.New(fault.UnrecognizedClient, "access key %s expired at %s; use another, such as 'muster admin keys create NAME --role ROLE' makes", id, k.Expires.UTC().Format(time.RFC3339))
	}
	return Caller{KeyID: k.ID, Name: k.Name, Role: k.Role, Scope: k.Scope, tags: s.tagsOf}, nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
