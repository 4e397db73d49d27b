package auth

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/musterhq/muster/internal/store"
)

// seal tells which master key a state is sealed under, and nothing about the key.
type seal struct {
	ID    string `json:"id"` // always sealID
	Check string `json:"check"`
}

const sealID = "master"

// SealTable is the table that holds the check value of a state's master key.
const SealTable = "master_key"

// SealedUnder reads a document of SealTable: the fingerprint of the master key that
// the state is sealed under.
func SealedUnder(doc []byte) (fingerprint string, err error) {
	var v seal
	err = json.Unmarshal(doc, &v)
	return v.Check, err
}

// ErrOtherMaster says that a state is sealed under another master key.
var ErrOtherMaster = errors.New("the state is sealed under another master key")

// Fingerprint is a value by which a master key is known: it is kept in the state.
func (m *Master) Fingerprint() string {
	return hex.EncodeToString(m.derive("muster master check v1")[:16])
}

// Adopt holds the state to its master key, and from the first time on remembers
// which it is. Errors: ErrOtherMaster.
func (s *Service) Adopt(ctx context.Context) error {
	view := s.st.View()
	if kept := s.seals.Get(view, sealID); kept != nil {
		if !hmac.Equal([]byte(kept.Check), []byte(s.master.Fingerprint())) {
			return ErrOtherMaster
		}
		return nil
	}
	for k := range s.keys.All(view) { // a state of before there was a check value
		if _, err := s.master.open(k.Sealed, k.ID); err != nil {
			return ErrOtherMaster
		}
	}
	_, err := s.adopt.Do(ctx, seal{sealID, s.master.Fingerprint()})
	return err
}

func (s *Service) runAdopt(tx *store.Tx, v seal) (struct{}, error) {
	s.seals.Put(tx, &v)
	return struct{}{}, nil
}
