package auth

import "sync"

// opened holds the secrets of the keys that were used since the server started, so that
// each is decrypted once. It never decides whether a key is valid: a secret is found only
// with the key's current row, and those of deleted keys are dropped.
type opened struct {
	mu      sync.RWMutex
	secrets map[string]openedKey // by key id
}

type openedKey struct {
	row    *Key // that the secret was decrypted from
	secret string
}

// of returns the secret of a key, if it was decrypted from this row.
func (o *opened) of(k *Key) (secret string, ok bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	found := o.secrets[k.ID]
	return found.secret, found.row == k
}

func (o *opened) keep(k *Key, secret string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.secrets == nil {
		o.secrets = map[string]openedKey{}
	}
	o.secrets[k.ID] = openedKey{k, secret}
}

func (o *opened) drop(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.secrets, id)
}
