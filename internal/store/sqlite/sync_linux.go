package sqlite

import (
	"golang.org/x/sys/unix"
	lib "modernc.org/sqlite/lib"
)

// syncData makes the data of an opened file durable, and its size, but not its times: to
// write those the file system would have to commit its own journal. SQLite does the same
// where it is compiled to use fdatasync.
func syncData(opened uintptr) (rc int32, ok bool) {
	for {
		err := unix.Fdatasync(int(at[lib.TunixFile](opened).Fh))
		switch err {
		case nil:
			return lib.SQLITE_OK, true
		case unix.EINTR:
		default:
			return lib.SQLITE_IOERR_FSYNC, true
		}
	}
}
