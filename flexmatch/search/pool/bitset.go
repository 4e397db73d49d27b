package pool

// bitset is a set of states.
type bitset []uint64

func (b bitset) has(s state) bool { return b[s>>6]>>(s&63)&1 == 1 }
func (b bitset) set(s state)      { b[s>>6] |= 1 << (s & 63) }

// meets reports whether two sets have a state in common.
func (b bitset) meets(o bitset) bool {
	for i := range o {
		if b[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// up adds the states of o that a move leads to. o must be another set, of which only the first
// words have states.
func (b bitset) up(o bitset, m *move, words int) {
	by, shift := m.by>>6, m.by&63
	words = min(words, len(b)-by)
	from, to := m.from[:words], b[by:]
	o = o[:words]
	if shift == 0 {
		for i, states := range o {
			to[i] |= states & from[i]
		}
		return
	}
	carried := uint64(0)
	for i, states := range o {
		states &= from[i]
		to[i] |= states<<shift | carried
		carried = states >> (64 - shift)
	}
	if words < len(to) {
		to[words] |= carried
	}
}

// down adds the states from which a move leads to one of o. o must be another set.
func (b bitset) down(o bitset, m *move) {
	words, shift := m.by>>6, m.by&63
	for i := 0; i+words < len(b); i++ {
		v := o[i+words] >> shift
		if shift > 0 && i+words+1 < len(b) {
			v |= o[i+words+1] << (64 - shift)
		}
		b[i] |= v & m.from[i]
	}
}
