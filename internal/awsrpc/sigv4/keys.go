package sigv4

import "sync"

// maxKeys bounds the cache; a full cache is emptied, which costs four hashes per key to
// refill.
const maxKeys = 4096

// noSecret is used as the secret of unknown access keys.
const noSecret = "no key has this secret"

// keyCache caches the keys derived for a day, region and service. A key is added only
// after a valid signature, so that unauthenticated callers cannot fill it.
type keyCache struct {
	mu   sync.RWMutex
	keys map[keyID]derivedKey
}

type keyID struct{ accessKeyID, date, region, service string }

type derivedKey struct {
	secret string // that it was derived from; an access key's secret may be replaced
	key    []byte
}

// derive returns the key that signs for a signature's scope, and a function that caches
// it, to be called once the signature proved valid. Unknown access keys share one
// entry, so that they take as long as known ones.
func (c *keyCache) derive(s *signature, secret string, known bool) (key []byte, store func()) {
	id := keyID{s.accessKeyID, s.date, s.region, s.service}
	if !known {
		id.accessKeyID = ""
	}
	c.mu.RLock()
	cached, ok := c.keys[id]
	c.mu.RUnlock()
	if ok && cached.secret == secret {
		return cached.key, func() {}
	}
	key = deriveKey(s, secret)
	return key, func() {
		c.put(id, derivedKey{secret, key})
		id.accessKeyID = ""
		c.put(id, derivedKey{secret: noSecret, key: deriveKey(s, noSecret)})
	}
}

func (c *keyCache) put(id keyID, k derivedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil || len(c.keys) >= maxKeys {
		c.keys = map[keyID]derivedKey{}
	}
	c.keys[id] = k
}

// deriveKey computes the chain of hashes from a secret to a scope's key.
func deriveKey(s *signature, secret string) []byte {
	k := mac([]byte("AWS4"+secret), []byte(s.date))
	k = mac(k, []byte(s.region))
	k = mac(k, []byte(s.service))
	return mac(k, []byte(terminator))
}
