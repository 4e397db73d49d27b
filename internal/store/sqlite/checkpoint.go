package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/musterhq/muster/internal/wake"
	"modernc.org/sqlite"
)

const (
	// checkpointAfter is how many pages are written to the log before they are moved
	// into the database: few, because a log that is reused from its start is synced
	// many times faster than one that grows.
	checkpointAfter = 4000
	// checkpointInline is the size at which a commit makes a checkpoint itself: the
	// concurrent checkpoints have failed, or a long read keeps the log from starting
	// over.
	checkpointInline = 64000
)

// checkpointer moves what commits have written to the log into the database. It works
// concurrently with commits, which would otherwise have to wait: only what was added
// during the long part is moved while the writer waits.
type checkpointer struct {
	db     *db
	pages  int // written since the last checkpoint; guarded by db.mu
	due    wake.Nudge
	conn   *sql.Conn
	cancel context.CancelFunc
	done   chan struct{}
}

// keepCheckpoints starts the checkpoints of an opened database.
func (db *db) keepCheckpoints(ctx context.Context) error {
	conn, err := db.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open for checkpoints: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &checkpointer{db: db, due: wake.NewNudge(), conn: conn, cancel: cancel, done: make(chan struct{})}
	db.checkpoints = c
	go c.run(ctx)
	return nil
}

// committed counts the pages of a commit. It must be called with db.mu held.
func (c *checkpointer) committed() {
	pages := 0
	err := c.db.conn.Raw(func(driver any) (err error) {
		pages, _, err = driver.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
		return err
	})
	if c.pages += pages; err == nil && c.pages < checkpointAfter {
		return
	}
	c.pages = 0
	c.due.Send()
}

func (c *checkpointer) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.due:
		}
		_ = c.checkpoint(ctx) // if it keeps failing, a commit fails at checkpointInline and reports it
	}
}

// checkpoint moves the log. If nothing is left in it and no one reads from it, the
// next commit starts at its beginning.
func (c *checkpointer) checkpoint(ctx context.Context) error {
	if err := c.move(ctx); err != nil {
		return err
	}
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	return c.move(ctx)
}

func (c *checkpointer) move(ctx context.Context) error {
	_, err := c.conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	return err
}

func (c *checkpointer) close() error {
	c.cancel()
	<-c.done
	return c.conn.Close()
}
