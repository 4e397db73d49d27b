package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/internal/atomicfile"
	"github.com/musterhq/muster/internal/store"
)

// confirmed is the last sequence of the cell's state that this node knows was confirmed, by
// itself or by an owner for which it stood by. It is kept in the data directory, so that a
// database that has less later is known to have lost commits.
type confirmed struct {
	path   string // "": it is not kept
	log    *slog.Logger
	kept   atomic.Uint64
	store  *store.Store
	member *member
}

// keepConfirmed is how often the sequence is written, if it has changed.
const keepConfirmed = time.Second

// openConfirmed reads what the node knew when it last ran.
func openConfirmed(o *Options) *confirmed {
	c := &confirmed{log: o.Logger}
	if o.Store == "memory" {
		return c
	}
	kind := o.Store
	if o.usesPostgres() {
		kind = "postgres"
	}
	c.path = o.file("confirmed." + kind + "." + o.Cell)
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c
	}
	var seq uint64
	if err == nil {
		seq, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	}
	if err != nil {
		c.log.Warn("what was last confirmed is not known, so lost commits may not be noticed", "error", err)
	}
	c.kept.Store(seq)
	return c
}

// here returns the sequence as far as this node itself knows it.
func (c *confirmed) here() uint64 { return max(c.kept.Load(), c.store.Confirmed()) }

// last returns the sequence. It is called once the node has become a member of its cell.
func (c *confirmed) last() uint64 {
	if c.member.joined() {
		return max(c.here(), c.member.keeper.Confirmed())
	}
	return c.here()
}

// keep writes the sequence when it has changed, until ctx ends.
func (c *confirmed) keep(ctx context.Context) {
	tick := time.NewTicker(keepConfirmed)
	defer tick.Stop()
	failing := false
	for over := c.path == ""; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-tick.C:
		}
		seq := c.last()
		if seq == c.kept.Load() {
			continue
		}
		err := atomicfile.Write(c.path, []byte(strconv.FormatUint(seq, 10)+"\n"), 0o600)
		if err == nil {
			c.kept.Store(seq)
		} else if !failing {
			c.log.Warn("what was last confirmed is not written down; trying again", "error", err)
		}
		failing = err != nil
	}
}
