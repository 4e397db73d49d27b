package sqlite

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// vfsName is SQLite's name of the VFS, its interface to the system's files, that the
// writer's connections use. It is the system's own, but that it gathers what is written
// to the log: SQLite writes each page, and the header before it, with a system call of
// its own, a hundred for one commit.
const vfsName = "muster"

const (
	logHeader    = 32        // bytes at the start of the log
	frameHeader  = 24        // bytes before each page in the log
	mostGathered = 127 << 10 // bytes; SQLite's VFS of Unix cannot write 128 KiB at once
)

// system is the VFS that opens files.
var system uintptr

// registerVFS adds the VFS to SQLite, once for the process.
var registerVFS = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	system = lib.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString(vfsName)
	if err != nil {
		return err
	}
	own := libc.Xmalloc(tls, lib.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
	if system == 0 || own == 0 {
		return fmt.Errorf("no VFS %#x, or no memory for one", system)
	}
	vfs := at[lib.Tsqlite3_vfs](own)
	*vfs = *at[lib.Tsqlite3_vfs](system)
	vfs.FpNext, vfs.FzName = 0, name
	vfs.FszOsFile = int32(besides() + unsafe.Sizeof(file{}))
	vfs.FxOpen = function(openFile)
	if rc := lib.Xsqlite3_vfs_register(tls, own, 0); rc != lib.SQLITE_OK {
		return fmt.Errorf("register VFS: SQLite's code %d", rc)
	}
	return nil
})

// file follows the system's file in the memory that SQLite allocates for an open file. One
// connection uses it, one call at a time.
type file struct {
	methods lib.Tsqlite3_io_methods // of this file
	system  lib.Tsqlite3_io_methods // those behind them
	buffer  uintptr                 // gathered bytes, allocated by libc
	used    int32                   // how many bytes are gathered
	start   int64                   // where they belong in the file; a header is there
	read    int64                   // where the last call read; -1 if it did not
	ends    bool                    // the next write completes a commit
	synced  bool                    // at least once
}

// besides returns how many bytes precede a file.
func besides() uintptr {
	const word = unsafe.Alignof(file{})
	return (uintptr(at[lib.Tsqlite3_vfs](system).FszOsFile) + word - 1) &^ (word - 1)
}

// fileOf returns the file that follows the system's file with this address.
func fileOf(opened uintptr) *file { return at[file](opened + besides()) }

// at returns a pointer to what libc allocated.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function returns what SQLite calls to call f, which must not be a closure.
func function[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// method returns the function that function was applied to.
func method[F any](f *uintptr) F { return *(*F)(unsafe.Pointer(f)) }

// The methods of SQLite's files.
type (
	openMethod  = func(tls *libc.TLS, vfs, name, opened uintptr, flags int32, flagsOut uintptr) int32
	closeMethod = func(tls *libc.TLS, opened uintptr) int32
	readMethod  = func(tls *libc.TLS, opened, into uintptr, n int32, offset int64) int32
	writeMethod = func(tls *libc.TLS, opened, from uintptr, n int32, offset int64) int32
	cutMethod   = func(tls *libc.TLS, opened uintptr, size int64) int32
	syncMethod  = func(tls *libc.TLS, opened uintptr, flags int32) int32
	sizeMethod  = func(tls *libc.TLS, opened, size uintptr) int32
	otherMethod = func(tls *libc.TLS, opened uintptr, op int32, arg uintptr) int32
)

func openFile(tls *libc.TLS, _, name, opened uintptr, flags int32, flagsOut uintptr) int32 {
	vfs := at[lib.Tsqlite3_vfs](system)
	rc := method[openMethod](&vfs.FxOpen)(tls, system, name, opened, flags, flagsOut)
	if rc != lib.SQLITE_OK || flags&(lib.SQLITE_OPEN_MAIN_DB|lib.SQLITE_OPEN_WAL) == 0 {
		return rc
	}
	f, methods := fileOf(opened), at[uintptr](opened)
	*f = file{system: *at[lib.Tsqlite3_io_methods](*methods), read: -1}
	f.methods = f.system
	f.methods.FxSync = function(syncMethod(syncIt))
	if flags&lib.SQLITE_OPEN_WAL != 0 {
		f.methods.FxClose = function(closeMethod(closeLog))
		f.methods.FxRead = function(readMethod(readLog))
		f.methods.FxWrite = function(writeMethod(writeLog))
		f.methods.FxTruncate = function(cutMethod(cutLog))
		f.methods.FxFileSize = function(sizeMethod(sizeOfLog))
		f.methods.FxFileControl = function(otherMethod(controlLog))
	}
	*methods = opened + besides() // of f.methods
	return rc
}

// writeLog gathers what is appended until a commit is complete: SQLite shows it to other
// connections only later. What is not appended is a page written again by the same
// transaction, or the header of a frame that has just been read, which is corrected.
func writeLog(tls *libc.TLS, opened, from uintptr, n int32, offset int64) int32 {
	f := fileOf(opened)
	written, corrects := unsafe.Slice(at[byte](from), n), offset == f.read
	f.read = -1
	header := (n == frameHeader || n == logHeader) && !corrects
	if header {
		f.undo(offset)
	}
	if f.used > 0 && offset != f.start+int64(f.used) || f.used+n > mostGathered {
		if rc := f.flush(tls, opened); rc != lib.SQLITE_OK {
			return rc
		}
	}
	if f.buffer == 0 {
		f.buffer = libc.Xmalloc(tls, mostGathered)
	}
	// The page of a commit's last header completes the commit.
	ended := f.ends && !header
	f.ends = header && n == frameHeader && binary.BigEndian.Uint32(written[4:]) != 0 // the size of the database after a commit
	if f.buffer == 0 || f.used == 0 && !header || f.used+n > mostGathered {
		return method[writeMethod](&f.system.FxWrite)(tls, opened, from, n, offset)
	}
	if f.used == 0 {
		f.start = offset
	}
	copy(unsafe.Slice(at[byte](f.buffer), mostGathered)[f.used:], written)
	f.used += n
	if !ended {
		return lib.SQLITE_OK
	}
	rc := f.flush(tls, opened)
	f.used = 0 // SQLite undoes a commit that could not be written
	return rc
}

// undo discards what was gathered from the offset on, where a header is about to be written:
// SQLite has undone it, as part of a transaction or as an earlier one. No other process
// writes to the log, since the data directory is locked.
func (f *file) undo(offset int64) {
	if kept := offset - f.start; 0 <= kept && kept <= int64(f.used) {
		f.used = int32(kept)
	} else {
		f.used = 0
	}
}

// flush writes what was gathered. If that fails it stays gathered, because SQLite was told
// that it is written.
func (f *file) flush(tls *libc.TLS, opened uintptr) int32 {
	if f.used == 0 {
		return lib.SQLITE_OK
	}
	rc := method[writeMethod](&f.system.FxWrite)(tls, opened, f.buffer, f.used, f.start)
	if rc == lib.SQLITE_OK {
		f.used = 0
	}
	return rc
}

// syncIt makes the file durable. The system's method is used first, because it syncs the
// directory of a new file too.
func syncIt(tls *libc.TLS, opened uintptr, flags int32) int32 {
	f := fileOf(opened)
	if rc := f.flush(tls, opened); rc != lib.SQLITE_OK {
		return rc
	}
	if f.synced {
		if rc, ok := syncData(opened); ok {
			return rc
		}
	}
	rc := method[syncMethod](&f.system.FxSync)(tls, opened, flags)
	f.synced = rc == lib.SQLITE_OK
	return rc
}

// closeLog discards what was gathered, which belongs to no commit.
func closeLog(tls *libc.TLS, opened uintptr) int32 {
	f := fileOf(opened)
	libc.Xfree(tls, f.buffer)
	f.buffer, f.used = 0, 0
	return method[closeMethod](&f.system.FxClose)(tls, opened)
}

// readLog writes what is gathered first if it is read.
func readLog(tls *libc.TLS, opened, into uintptr, n int32, offset int64) int32 {
	f := fileOf(opened)
	if offset < f.start+int64(f.used) && f.start < offset+int64(n) {
		if rc := f.flush(tls, opened); rc != lib.SQLITE_OK {
			return rc
		}
	}
	f.read = offset
	return method[readMethod](&f.system.FxRead)(tls, opened, into, n, offset)
}

func cutLog(tls *libc.TLS, opened uintptr, size int64) int32 {
	f := fileOf(opened)
	if rc := f.flush(tls, opened); rc != lib.SQLITE_OK {
		return rc
	}
	return method[cutMethod](&f.system.FxTruncate)(tls, opened, size)
}

func sizeOfLog(tls *libc.TLS, opened, size uintptr) int32 {
	f := fileOf(opened)
	if rc := f.flush(tls, opened); rc != lib.SQLITE_OK {
		return rc
	}
	return method[sizeMethod](&f.system.FxFileSize)(tls, opened, size)
}

func controlLog(tls *libc.TLS, opened uintptr, op int32, arg uintptr) int32 {
	f := fileOf(opened)
	if rc := f.flush(tls, opened); rc != lib.SQLITE_OK {
		return rc
	}
	return method[otherMethod](&f.system.FxFileControl)(tls, opened, op, arg)
}
