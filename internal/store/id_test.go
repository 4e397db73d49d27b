package store

import (
	"math/bits"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
)

// Player session ids admit players, and those of one match are made by one command: a
// player who knows one must not be able to compute the others. With PCG that would be
// possible, since its state can be derived from a single value.
func TestID_DoesNotTellTheNext(t *testing.T) {
	t.Parallel()
	s := New(Options{Driver: NewMemory()})
	c := NewCommand(s, "two", func(tx *Tx, _ struct{}) ([2]string, error) { return [2]string{tx.ID(""), tx.ID("")}, nil })
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids, err := c.Do(t.Context(), struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := chanceOf(t, ids[0]), chanceOf(t, ids[1])
	for variant := range uint64(4) { // the two bits that an identifier does not show
		if nextOfPCG(mine|variant<<62)&^(3<<62) == theirs {
			t.Fatalf("%s tells %s, which the same command made", ids[0], ids[1])
		}
	}
}

// Identifiers sort in the order of creation, however many there are within a millisecond, also
// if the store is opened again within it, or by a node whose clock is behind.
func TestID_SortsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, last := NewMemory(), ""
		for range 2 {
			s := New(Options{Driver: driver})
			rows := NewTable(s, TableSpec[string]{Name: "row", Key: func(id *string) string { return *id }})
			c := NewAction(s, "many", func(tx *Tx, _ struct{}) error {
				for range 600 {
					id := tx.ID("x-")
					if id <= last || len(id) != 38 || id[16] != '7' {
						t.Errorf("%s follows %s", id, last)
					}
					last = id
				}
				newest := last
				rows.Put(tx, &newest)
				return nil
			})
			if err := s.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := c.Do(t.Context(), struct{}{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// chanceOf returns the 62 random bits of an identifier.
func chanceOf(t *testing.T, id string) (chance uint64) {
	t.Helper()
	u, err := uuid.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range u[8:] {
		chance = chance<<8 | uint64(b)
	}
	return chance &^ (3 << 62)
}

// nextOfPCG returns the second value of a rand.PCG from its first, if the second half
// of its seed is known.
func nextOfPCG(first uint64) uint64 {
	const cheapMul = 0xda942042e4dd58b5
	step := func(hi, lo uint64) (uint64, uint64) {
		const mulHi, mulLo, incHi, incLo = 2549297995355413924, 4865540595714422341, 6364136223846793005, 1442695040888963407
		h, l := bits.Mul64(lo, mulLo)
		h += hi*mulLo + lo*mulHi
		l, carry := bits.Add64(l, incLo, 0)
		h, _ = bits.Add64(h, incHi, carry)
		return h, l
	}
	_, lo := step(0, 0x9e3779b97f4a7c15) // the low half does not depend on the seed
	hi := first * inverse(lo|1)
	hi ^= hi >> 48
	hi *= inverse(cheapMul)
	hi ^= hi >> 32
	hi, lo = step(hi, lo)
	hi ^= hi >> 32
	hi *= cheapMul
	hi ^= hi >> 48
	return hi * (lo | 1)
}

// inverse returns the multiplicative inverse of odd modulo 2^64.
func inverse(odd uint64) uint64 {
	x := odd // right in 3 bits; each step doubles that
	for range 5 {
		x *= 2 - odd*x
	}
	return x
}
