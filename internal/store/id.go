package store

import (
	"time"

	"github.com/google/uuid"
)

// ID returns a new identifier: the prefix and a version 7 UUID made from Now and
// Rand. Identifiers of one store sort in the order of creation: the 12 bits after the
// milliseconds count (RFC 9562, 6.2, method 1), the other 62 are random.
func (tx *Tx) ID(prefix string) string {
	tx.check(tx.store)
	clock := max(uint64(tx.now.UnixMilli())<<12, tx.store.head.ids+1)
	tx.store.head.ids = clock
	return prefix + uuidOf(clock, tx.Rand().Uint64()).String()
}

// lastIDOf returns the clock of the last identifier of a millisecond. Identifiers of a store
// that is opened again come after it: how many were made in the last one is not stored.
func lastIDOf(moment time.Time) uint64 { return uint64(max(0, moment.UnixMilli()))<<12 | 0xfff }

// uuidOf lays out a version 7 UUID: 48 bits of milliseconds, the version, 12 bits of
// counter, the variant, 62 random bits.
func uuidOf(clock, chance uint64) uuid.UUID {
	var u uuid.UUID
	for i := range 6 {
		u[i] = byte(clock >> (52 - 8*i))
	}
	u[6] = 0x70 | byte(clock>>8)&0x0f
	u[7] = byte(clock)
	for i := range 8 {
		u[8+i] = byte(chance >> (56 - 8*i))
	}
	u[8] = 0x80 | u[8]&0x3f
	return u
}
