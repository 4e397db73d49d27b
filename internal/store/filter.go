package store

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// filter is a set of strings that may also contain some that were never added: a Bloom
// filter in layers, each four times as large as the one before. Strings are added by one
// goroutine at a time, and looked up by any.
type filter struct {
	seed   maphash.Seed
	layers atomic.Pointer[[]*layer] // the last one is added to
	added  int                      // to all layers
	room   int                      // additions until the next layer
}

// layer is a part of a filter. A string belongs to one block, in each of whose words it
// has one bit.
type layer struct{ blocks []block }

type block [8]atomic.Uint64 // a line of the cache

const (
	firstBlocks = 1 << 6  // 4 KiB
	mostBlocks  = 1 << 18 // 16 MiB; all layers have 22 MiB
	blockRoom   = 42      // strings; one in 200 others then seems to be in
)

func newFilter() *filter {
	f := &filter{seed: maphash.MakeSeed()}
	f.layers.Store(new([]*layer))
	return f
}

// add adds a string. Once the layers have their most blocks, the last one takes all: more
// and more strings seem to be in.
func (f *filter) add(s string) {
	layers := *f.layers.Load()
	if f.room == 0 {
		n := min(firstBlocks<<(2*len(layers)), mostBlocks)
		if len(layers) == 0 || len(layers[len(layers)-1].blocks) < n {
			layers = append(layers[:len(layers):len(layers)], &layer{make([]block, n)})
			f.layers.Store(&layers)
		}
		f.room = n * blockRoom
	}
	f.room--
	f.added++
	layers[len(layers)-1].add(maphash.String(f.seed, s))
}

// has reports whether a string may have been added.
func (f *filter) has(s string) bool {
	hash := maphash.String(f.seed, s)
	for _, l := range *f.layers.Load() {
		if l.has(hash) {
			return true
		}
	}
	return false
}

// place returns the block of a hash, and bits of it that choose one bit in each word.
func (l *layer) place(hash uint64) (*block, uint64) {
	i, _ := bits.Mul64(hash, uint64(len(l.blocks)))
	return &l.blocks[i], hash * 0x9e3779b97f4a7c15
}

func (l *layer) add(hash uint64) {
	b, choice := l.place(hash)
	for i := range b {
		b[i].Or(1 << (choice >> (8 + 7*i) & 63))
	}
}

func (l *layer) has(hash uint64) bool {
	b, choice := l.place(hash)
	for i := range b {
		if b[i].Load()&(1<<(choice>>(8+7*i)&63)) == 0 {
			return false
		}
	}
	return true
}
