package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/tidwall/btree"
)

// Reader is what tables and indexes are read through: a *Snapshot shows one committed
// state, a *Tx shows the head, including its own changes.
type Reader interface {
	// trees returns the trees by slot, or nil for the heads.
	trees() []any
	// logs returns the last number of each log by slot, or nil for the heads.
	logs() []uint64
}

// Snapshot is one committed state: immutable, readable from any goroutine without
// locks, and valid for as long as it is referenced.
type Snapshot struct {
	catalog *catalog
	seq     uint64
	tree    []any    // *btree.BTreeG of each table and index, by slot
	last    []uint64 // last number of each log, by slot
}

func (sn *Snapshot) trees() []any   { return sn.tree }
func (sn *Snapshot) logs() []uint64 { return sn.last }

// Seq returns the number of commands that changed something since the cell was
// created.
func (sn *Snapshot) Seq() uint64 { return sn.seq }

// Digest returns the SHA-256, in hex, of all live rows of all tables: table names and
// keys ascending, rows as stored. Equal states have equal digests, whatever the order
// of registration.
func (sn *Snapshot) Digest() string {
	h := sha256.New()
	for _, t := range sn.catalog.tablesByName() {
		t.digest(sn, h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashPart writes a part with its length, so that the boundaries of parts count.
func hashPart(h hash.Hash, part []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(part)))
	h.Write(n[:])
	h.Write(part)
}

// treeIn returns a tree through a reader. head points to the head's tree, which only a Tx may
// access.
func treeIn[T any](r Reader, slot int, head *any) *btree.BTreeG[T] {
	trees := r.trees()
	if trees == nil {
		return (*head).(*btree.BTreeG[T])
	}
	if slot >= len(trees) || trees[slot] == nil {
		panic(fmt.Sprintf("store: slot %d was registered after this snapshot was made", slot))
	}
	return trees[slot].(*btree.BTreeG[T])
}
