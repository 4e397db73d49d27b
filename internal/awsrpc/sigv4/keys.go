package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// maxKeys bounds the cache; a full cache is emptied, which costs four hashes per key to
// refill.
const maxKeys = 4096

// noSecret is used as the secret of unknown access keys.
const noSecret = "no key has this secret"

// keyCache caches the keys derived for a day, region and service. A key is added only
// after a valid signature, so that unauthenticated callers cannot fill it.
type keyCache struct {
	mu   sync.RWMutex
	keys map[keyID]*derivedKey
}

type keyID struct{ accessKeyID, date, region, service string }

// derivedKey is the key that signs for a scope.
type derivedKey struct {
	secret string // that it was derived from; an access key's secret may be replaced
	key    []byte
	spare  sync.Pool // of *macer
}

// derive returns the key that signs for a signature's scope, and whether it was cached.
// Unknown access keys share one entry, so that they take as long as known ones.
func (c *keyCache) derive(s *signature, secret string, known bool) (k *derivedKey, cached bool) {
	id := keyID{s.accessKeyID, s.date, s.region, s.service}
	if !known {
		id.accessKeyID = ""
	}
	c.mu.RLock()
	k = c.keys[id]
	c.mu.RUnlock()
	if k != nil && k.secret == secret {
		return k, true
	}
	return deriveKey(s, secret), false
}

// keep caches the key of a signature that proved valid.
func (c *keyCache) keep(s *signature, k *derivedKey) {
	c.put(keyID{s.accessKeyID, s.date, s.region, s.service}, k)
	c.put(keyID{"", s.date, s.region, s.service}, deriveKey(s, noSecret))
}

func (c *keyCache) put(id keyID, k *derivedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil || len(c.keys) >= maxKeys {
		c.keys = map[keyID]*derivedKey{}
	}
	c.keys[id] = k
}

// deriveKey computes the chain of hashes from a secret to a scope's key.
func deriveKey(s *signature, secret string) *derivedKey {
	k := mac([]byte("AWS4"+secret), []byte(s.date))
	k = mac(k, []byte(s.region))
	k = mac(k, []byte(s.service))
	return &derivedKey{secret: secret, key: mac(k, []byte(terminator))}
}

// macer computes signatures with one key. It is used by one goroutine at a time, and
// nothing that it returns may be kept after it was put back.
type macer struct {
	mac  hash.Hash
	text []byte // space for canonical requests and for what is signed
	hash [sha256.Size]byte
	sum  []byte // the last signature in hexadecimal
}

// macer returns a new macer, or one from the pool if the key is cached: the pool of a key
// that is used once would cost more than it saves.
func (k *derivedKey) macer(cached bool) *macer {
	if cached {
		if m, ok := k.spare.Get().(*macer); ok {
			return m
		}
	}
	return &macer{mac: hmac.New(sha256.New, k.key)}
}

// put returns a macer to the pool, unless its space has grown large.
func (k *derivedKey) put(m *macer) {
	if cap(m.text) <= 16<<10 {
		k.spare.Put(m)
	}
}

func mac(key, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}
