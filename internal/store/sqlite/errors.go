package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/musterhq/muster/internal/store"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// explain wraps errors that mean that another connection was writing in ErrTransient,
// and those caused by a full disk, which SQLite reports as such only in some places,
// in ErrFull.
func (db *db) explain(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok || errors.Is(err, store.ErrTransient) || errors.Is(err, store.ErrFull) {
		return err
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", store.ErrTransient, err)
	case lib.SQLITE_FULL, lib.SQLITE_IOERR:
		if e.Code() == lib.SQLITE_FULL || full(filepath.Dir(db.file)) {
			return fmt.Errorf("%s: %w; make room: %w", filepath.Dir(db.file), store.ErrFull, err)
		}
	}
	return err
}

// full reports whether a directory's disk has no room for a file as large as SQLite's
// index of its log.
func full(dir string) bool {
	f, err := os.CreateTemp(dir, "muster-room-*")
	if err != nil {
		return errors.Is(err, syscall.ENOSPC)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Is(err, syscall.ENOSPC)
}
