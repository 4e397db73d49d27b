package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// openedLog is a log that is written as SQLite does.
type openedLog struct {
	t       *testing.T
	tls     *libc.TLS
	address uintptr
}

// openLog opens the log of an empty database in dir.
func openLog(t *testing.T, dir string) *openedLog {
	t.Helper()
	if err := registerVFS(); err != nil {
		t.Fatal(err)
	}
	if err := create(filepath.Join(dir, "muster.db")); err != nil {
		t.Fatal(err)
	}
	l := &openedLog{t: t, tls: libc.NewTLS()}
	name, err := libc.CString(filepath.Join(dir, "muster.db-wal") + "\x00")
	if err != nil {
		t.Fatal(err)
	}
	l.address = libc.Xcalloc(l.tls, 1, lib.Tsize_t(besides()+unsafe.Sizeof(file{})))
	const flags = lib.SQLITE_OPEN_WAL | lib.SQLITE_OPEN_CREATE | lib.SQLITE_OPEN_READWRITE
	l.expect(lib.SQLITE_OK, openFile(l.tls, 0, name, l.address, flags, 0))
	t.Cleanup(func() {
		method[closeMethod](&l.methods().FxClose)(l.tls, l.address)
		libc.Xfree(l.tls, l.address)
		libc.Xfree(l.tls, name)
		l.tls.Close()
	})
	return l
}

func (l *openedLog) methods() *lib.Tsqlite3_io_methods {
	return at[lib.Tsqlite3_io_methods](*at[uintptr](l.address))
}

func (l *openedLog) expect(want, got int32) {
	l.t.Helper()
	if got != want {
		l.t.Fatalf("SQLite's code is %d, want %d", got, want)
	}
}

func (l *openedLog) write(offset int, written []byte) int32 {
	from := libc.Xmalloc(l.tls, lib.Tsize_t(len(written)))
	defer libc.Xfree(l.tls, from)
	copy(unsafe.Slice(at[byte](from), len(written)), written)
	return method[writeMethod](&l.methods().FxWrite)(l.tls, l.address, from, int32(len(written)), int64(offset))
}

// read returns the page at an offset.
func (l *openedLog) read(offset int) []byte {
	l.t.Helper()
	into := libc.Xmalloc(l.tls, 4096)
	defer libc.Xfree(l.tls, into)
	l.expect(lib.SQLITE_OK, method[readMethod](&l.methods().FxRead)(l.tls, l.address, into, 4096, int64(offset)))
	return bytes.Clone(unsafe.Slice(at[byte](into), 4096))
}

// expectSize checks how many bytes the log has.
func (l *openedLog) expectSize(want int64) {
	l.t.Helper()
	into := libc.Xmalloc(l.tls, 8)
	defer libc.Xfree(l.tls, into)
	l.expect(lib.SQLITE_OK, method[sizeMethod](&l.methods().FxFileSize)(l.tls, l.address, into))
	if got := *at[int64](into); got != want {
		l.t.Errorf("the log has %d bytes, want %d", got, want)
	}
}

func (l *openedLog) sync() int32 {
	return method[syncMethod](&l.methods().FxSync)(l.tls, l.address, lib.SQLITE_SYNC_NORMAL)
}

// frame writes a page and its header; pages is not 0 at the end of a commit.
func (l *openedLog) frame(offset int, pages uint32, page []byte) int32 {
	header := make([]byte, frameHeader)
	binary.BigEndian.PutUint32(header[4:], pages)
	l.expect(lib.SQLITE_OK, l.write(offset, header))
	return l.write(offset+frameHeader, page)
}

func (l *openedLog) fd() int { return int(at[lib.TunixFile](l.address).Fh) }

// replaceBy has the log's descriptor refer to another file.
func (l *openedLog) replaceBy(path string) {
	l.t.Helper()
	other, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Dup3(int(other.Fd()), l.fd(), unix.O_CLOEXEC); err != nil {
		l.t.Fatal(err)
	}
}

// TestVFS_Commit expects a commit in the file, whole, once its last page is written, and
// nothing of it before.
func TestVFS_Commit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, dir)
	path := filepath.Join(dir, "muster.db-wal")
	if got, err := os.Readlink(fmt.Sprint("/proc/self/fd/", l.fd())); err != nil || got != path {
		t.Fatalf("the file's descriptor is that of %s, %v; want %s", got, err, path)
	}
	page := bytes.Repeat([]byte("p"), 4096)
	const size = frameHeader + 4096
	end := 0 // of the last commit
	for _, pages := range []int{1, 3, 80} {
		for n := range pages - 1 {
			l.expect(lib.SQLITE_OK, l.frame(end+n*size, 0, page))
		}
		if raw := contents(t, path); pages*size < mostGathered && len(raw) != end {
			t.Fatalf("the log has %d bytes before a commit of %d pages is complete, want %d", len(raw), pages, end)
		}
		l.expect(lib.SQLITE_OK, l.frame(end+(pages-1)*size, 7, page))
		raw := contents(t, path)
		if len(raw) != end+pages*size {
			t.Fatalf("the log has %d bytes after a commit of %d pages, want %d", len(raw), pages, end+pages*size)
		}
		for ; end < len(raw); end += size {
			if !bytes.Equal(raw[end+frameHeader:end+size], page) {
				t.Fatalf("the page at %d is another", end)
			}
		}
		l.expect(lib.SQLITE_OK, l.sync())
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestVFS_ReadsBack reads and measures what is gathered.
func TestVFS_ReadsBack(t *testing.T) {
	t.Parallel()
	l := openLog(t, t.TempDir())
	page := bytes.Repeat([]byte("p"), 4096)
	l.expect(lib.SQLITE_OK, l.frame(0, 0, page))
	if !bytes.Equal(l.read(frameHeader), page) {
		t.Error("a page that was written is read differently")
	}
	l.expect(lib.SQLITE_OK, l.frame(frameHeader+4096, 0, page))
	l.expectSize(2 * (frameHeader + 4096))
	l.expect(lib.SQLITE_OK, l.frame(2*(frameHeader+4096), 0, page))
	l.expect(lib.SQLITE_OK, method[cutMethod](&l.methods().FxTruncate)(l.tls, l.address, 100))
	l.expectSize(100)
}

// TestVFS_Full writes to a full disk: the commit fails, and nothing of it is written later.
func TestVFS_Full(t *testing.T) {
	t.Parallel()
	l := openLog(t, t.TempDir())
	l.replaceBy("/dev/full")
	page := make([]byte, 4096)
	l.expect(lib.SQLITE_OK, l.frame(0, 0, page))
	l.expect(lib.SQLITE_FULL, l.sync())
	l.expect(lib.SQLITE_FULL, l.sync()) // still there: no commit, so SQLite may rely on it
	l.expect(lib.SQLITE_FULL, l.frame(frameHeader+4096, 7, page))
	if used := fileOf(l.address).used; used != 0 {
		t.Errorf("%d bytes of a commit that failed are kept", used)
	}
}

// TestVFS_FullThenUndone has a transaction fail half-written, because the disk is full. What
// was gathered of it disturbs neither reads of what was there before nor the next transaction.
func TestVFS_FullThenUndone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, dir)
	path := filepath.Join(dir, "muster.db-wal")
	page := bytes.Repeat([]byte("p"), 4096)
	const size = frameHeader + 4096
	l.expect(lib.SQLITE_OK, l.frame(0, 7, page))
	full, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	other, committed := bytes.Repeat([]byte("o"), 4096), page
	for _, start := range []int{size, 0} { // after the same commit, from the start
		l.replaceBy("/dev/full")
		n := 1
		for rc := int32(lib.SQLITE_OK); rc == lib.SQLITE_OK; n++ {
			if n > 100 {
				t.Fatal("nothing is written to the disk")
			}
			if rc = l.write(n*size, make([]byte, frameHeader)); rc == lib.SQLITE_OK {
				rc = l.write(n*size+frameHeader, page)
			}
		}
		if fileOf(l.address).used == 0 {
			t.Fatal("nothing is gathered of the transaction that failed")
		}
		if err := unix.Dup3(int(full.Fd()), l.fd(), unix.O_CLOEXEC); err != nil { // there is room again
			t.Fatal(err)
		}
		if !bytes.Equal(l.read(frameHeader), committed) {
			t.Error("the page of the commit before is read differently")
		}
		if start == 0 {
			committed = other
		}
		l.expect(lib.SQLITE_OK, l.frame(start, 7, other))
		if raw := contents(t, path); len(raw) < start+size || !bytes.Equal(raw[start+frameHeader:start+size], other) {
			t.Errorf("the next transaction is not at %d of %d bytes", start, len(raw))
		}
	}
	raw := contents(t, path)
	if len(raw) != 2*size || !bytes.Equal(raw[size+frameHeader:], other) {
		t.Errorf("the log of %d bytes has some of a transaction that failed", len(raw))
	}
}

// TestVFS_Savepoint undoes part of a transaction, and writes one of its pages again.
func TestVFS_Savepoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, dir)
	const size = frameHeader + 4096
	pages := make([][]byte, 5)
	for n := range pages {
		pages[n] = bytes.Repeat([]byte{byte('a' + n)}, 4096)
	}
	for n, page := range [][]byte{pages[0], pages[1], pages[3], pages[3]} {
		l.expect(lib.SQLITE_OK, l.frame(n*size, 0, page))
	}
	l.expect(lib.SQLITE_OK, l.frame(2*size, 0, pages[2])) // after ROLLBACK TO
	l.expect(lib.SQLITE_OK, l.write(frameHeader, pages[4]))
	l.expect(lib.SQLITE_OK, l.frame(3*size, 7, pages[3]))
	raw := contents(t, filepath.Join(dir, "muster.db-wal"))
	for n, want := range [][]byte{pages[4], pages[1], pages[2], pages[3]} {
		if len(raw) != 4*size || !bytes.Equal(raw[n*size+frameHeader:(n+1)*size], want) {
			t.Fatalf("page %d of %d bytes is not what was written last", n, len(raw))
		}
	}
}

// TestVFS_SyncFails expects the failure of a sync to be reported each time.
func TestVFS_SyncFails(t *testing.T) {
	t.Parallel()
	l := openLog(t, t.TempDir())
	l.expect(lib.SQLITE_OK, l.sync())
	l.replaceBy("/dev/null") // which cannot be synced
	for range 2 {
		l.expect(lib.SQLITE_IOERR_FSYNC, l.sync())
	}
}
