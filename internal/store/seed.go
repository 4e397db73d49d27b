package store

import (
	crand "crypto/rand"
	"math/rand/v2"
)

// seeder gives each command its seed; nobody can guess the next one.
type seeder struct{ source *rand.ChaCha8 }

func newSeeder() seeder {
	var key [32]byte
	crand.Read(key[:])
	return seeder{rand.NewChaCha8(key)}
}

func (s seeder) next() uint64 { return s.source.Uint64() }
