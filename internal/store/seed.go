package store

import (
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// seed determines the random numbers of one command. It has too many bits to be
// guessed.
type seed [16]byte

// MarshalText returns the seed in hex, for recordings.
func (s seed) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText parses what MarshalText returns.
func (s *seed) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(s) {
		return fmt.Errorf("a seed has %d hex digits, not %d", 2*len(s), len(text))
	}
	_, err := hex.Decode(s[:], text)
	return err
}

// seeder generates the seeds of commands; the next one cannot be predicted.
type seeder struct{ source *rand.ChaCha8 }

func newSeeder() seeder {
	var key [32]byte
	crand.Read(key[:])
	return seeder{rand.NewChaCha8(key)}
}

func (s seeder) next() (next seed) {
	s.source.Read(next[:]) // never fails
	return next
}
