package auth

// Derive returns a 32-byte key for one purpose. No two purposes share a key, so the
// text of a purpose must not change and must not be used for anything else.
func (m *Master) Derive(purpose string) []byte { return m.derive("muster derive v1 " + purpose) }

// Seal encrypts a secret for storage; label binds the result to what it belongs to.
func (m *Master) Seal(secret, label string) []byte { return m.seal(secret, "muster "+label) }

// Open decrypts the result of Seal with the same label.
func (m *Master) Open(sealed []byte, label string) (string, error) {
	return m.open(sealed, "muster "+label)
}
