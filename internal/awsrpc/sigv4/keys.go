package sigv4

import "sync"

// maxKeys bounds the cache; when it is full it begins anew, which costs four
// hashes a key.
const maxKeys = 4096

// noSecret stands for the secret of access keys that are not known.
const noSecret = "no key has this secret"

// keyCache remembers the keys derived for a day, region and service. Only keys
// whose signature was good get in, so that strangers cannot fill it.
type keyCache struct {
	mu   sync.RWMutex
	keys map[keyID]derivedKey
}

type keyID struct{ accessKeyID, date, region, service string }

type derivedKey struct {
	secret string // it was derived from: a key's secret may be replaced
	key    []byte
}

// derive gives the key that signs for a signature's scope, and the function
// that remembers it once the signature has proved good. Unknown access keys
// share one entry, so that they are as quick or slow as known ones.
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

// deriveKey is the chain of hashes from a secret to a scope's key.
func deriveKey(s *signature, secret string) []byte {
	k := mac([]byte("AWS4"+secret), []byte(s.date))
	k = mac(k, []byte(s.region))
	k = mac(k, []byte(s.service))
	return mac(k, []byte(terminator))
}
