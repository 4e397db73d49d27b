package store

import "testing"

// Every bit of a seed counts: no half of it determines a command's random numbers.
func TestSeed(t *testing.T) {
	t.Parallel()
	drawn := map[uint64]int{}
	for bit := range 8 * len(seed{}) {
		var s seed
		s[bit/8] = 1 << (bit % 8)
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back seed
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s becomes %x, %v", text, back, err)
		}
		n := (&Tx{seed: s}).Rand().Uint64()
		if other, ok := drawn[n]; ok {
			t.Errorf("bits %d and %d of a seed draw the same", bit, other)
		}
		drawn[n] = bit
	}
	if err := new(seed).UnmarshalText([]byte("1")); err == nil {
		t.Error("a short seed is read")
	}
}
