package auth

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/musterhq/muster/internal/store"
)

// seal identifies the master key that a state is sealed with, without revealing
// anything about it.
type seal struct {
	ID    string `json:"id"` // always sealID
	Check string `json:"check"`
}

const sealID = "master"

// SealTable is the table with the fingerprint of a state's master key.
const SealTable = "master_key"

// SealedUnder returns the fingerprint in a document of SealTable: that of the master
// key that the state is sealed with.
func SealedUnder(doc []byte) (fingerprint string, err error) {
	var v seal
	err = json.Unmarshal(doc, &v)
	return v.Check, err
}

// ErrOtherMaster is returned if a state is sealed with another master key.
var ErrOtherMaster = errors.New("the state is sealed under another master key")

// Fingerprint returns a value that identifies the master key. It is stored in the
// state.
func (m *Master) Fingerprint() string {
	return hex.EncodeToString(m.derive("muster master check v1")[:16])
}

// Adopt checks that the state is sealed with this master key; the first call stores
// which one that is. Errors: ErrOtherMaster.
func (s *Service) Adopt(ctx context.Context) error {
	view := s.st.View()
	if kept := s.seals.Get(view, sealID); kept != nil {
		if !hmac.Equal([]byte(kept.Check), []byte(s.master.Fingerprint())) {
			return ErrOtherMaster
		}
		return nil
	}
	for k := range s.keys.All(view) { // a state without a stored fingerprint
		if _, err := s.master.open(k.Sealed, k.ID); err != nil {
			return ErrOtherMaster
		}
	}
	return s.adopt.Do(ctx, seal{sealID, s.master.Fingerprint()})
}

func (s *Service) runAdopt(tx *store.Tx, v seal) error {
	s.seals.Put(tx, &v)
	return nil
}
