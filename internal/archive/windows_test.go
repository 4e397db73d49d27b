package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// headed returns a zip of files with the given headers and contents.
func headed(t testing.TB, contents map[*zip.FileHeader]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for h, content := range contents {
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// unpacked returns the names in a zip, slash-separated, as they are unpacked.
func unpacked(t *testing.T, content []byte) []string {
	t.Helper()
	dir := t.TempDir()
	r := bytes.NewReader(content)
	if _, err := Extract(r, r.Size(), Zip, dir, Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Names are UTF-8 if they say so or happen to be, and CP437 otherwise, unless a field has them in
// UTF-8 too.
func TestExtract_Names(t *testing.T) {
	t.Parallel()
	field := func(of, name string) []byte {
		extra := binary.LittleEndian.AppendUint16(nil, unicodePathID)
		extra = binary.LittleEndian.AppendUint16(extra, uint16(unicodePathHead+len(name)))
		extra = binary.LittleEndian.AppendUint32(append(extra, 1), crc32.ChecksumIEEE([]byte(of)))
		return append(extra, name...)
	}
	for want, h := range map[string]*zip.FileHeader{
		"café.txt":         {Name: "caf\x82.txt", NonUTF8: true},
		"Größe/ñandú":      {Name: "Gr\x94\xe1e/\xa4and\xa3", NonUTF8: true},
		"マップ/地図.txt":       {Name: "マップ/地図.txt"},
		"unsaid/地図.txt":    {Name: "unsaid/地図.txt", NonUTF8: true},
		"field/地図.txt":     {Name: "field/\x92\x6e.txt", NonUTF8: true, Extra: field("field/\x92\x6e.txt", "field/地図.txt")},
		"renamed/Æn.txt":   {Name: "renamed/\x92\x6e.txt", NonUTF8: true, Extra: field("before/\x92\x6e.txt", "before/地図.txt")},
		"Game/Map/a b.txt": {Name: `Game\Map\a b.txt`},
	} {
		if got := unpacked(t, headed(t, map[*zip.FileHeader]string{h: "x"})); !slices.Equal(got, []string{want}) {
			t.Errorf("%q is unpacked as %q, want %q", h.Name, got, want)
		}
	}
	claimed := headed(t, map[*zip.FileHeader]string{{Name: "caf\u00e9.txt"}: "x"})
	claimed = bytes.ReplaceAll(claimed, []byte("caf\u00e9.txt"), []byte("caf\x82\x82.txt"))
	refusedAs(t, claimed, `the name "caf\x82\x82.txt" is not UTF-8`)
}

// refusedAs checks that a zip is refused for a reason.
func refusedAs(t *testing.T, content []byte, want string) {
	t.Helper()
	r := bytes.NewReader(content)
	_, err := Check(r, r.Size(), Zip, Limits{})
	var refused *Refused
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) {
		t.Errorf("%v, want a refusal with %q", err, want)
	}
}

// A refusal names its one cause, and the limit.
func TestCheck_NamesOneCause(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("a", 100) + "/"
	for name, want := range map[string]string{
		"":                                "an empty name",
		strings.Repeat(part, 13) + "f":    "has 1314 bytes; at most 1024 are allowed",
		"d/" + strings.Repeat("b", 256):   "of a file or folder, has 256 bytes; at most 255 are allowed",
		strings.Repeat("d/", 200) + "f":   "lies 200 folders deep; at most 128 are allowed",
		"a\x00b":                          "contains a NUL character",
		`D:\build\server`:                 "is an absolute path, with a drive",
		"/build/server":                   "is an absolute path; names must be relative",
		`..\..\` + strings.Repeat("c", 9): "climbs out of the archive",
	} {
		refusedAs(t, zipOf(t, item{name: name, content: "x"}), want)
	}
}

// Programs and scripts are executable in archives that have no modes, because they were made on
// Windows or because a program has lost them. What an archive says otherwise, counts.
func TestExtract_WithoutModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no execute permission here")
	}
	const program, script, text = "\x7fELF\x02\x01", "#!/bin/sh\nexec ./server\n", "# a text"
	onWindows := func(name string) *zip.FileHeader {
		return &zip.FileHeader{Name: name, ExternalAttrs: 0x20} // its creator is MS-DOS
	}
	unix := func(name string, mode fs.FileMode) *zip.FileHeader {
		h := &zip.FileHeader{Name: name}
		h.SetMode(mode)
		return h
	}
	for name, c := range map[string]struct {
		content    []byte
		executable string
	}{
		"Windows":        {headed(t, map[*zip.FileHeader]string{onWindows("server"): program, onWindows("run.sh"): script, onWindows("a.txt"): text, onWindows("empty"): ""}), "run.sh server"},
		"lost":           {headed(t, map[*zip.FileHeader]string{unix("server", 0o644): program, unix("a.txt", 0o644): text}), "server"},
		"lost, tar":      {tarOf(t, item{name: "server", content: program, mode: 0o666}, item{name: "a.txt", content: text, mode: 0o666}), "server"},
		"with modes":     {headed(t, map[*zip.FileHeader]string{unix("server", 0o755): program, unix("lib.so", 0o644): program}), "server"},
		"mixed, by file": {headed(t, map[*zip.FileHeader]string{unix("server", 0o755): program, unix("lib.so", 0o644): program, onWindows("added.sh"): script}), "added.sh server"},
	} {
		dir := t.TempDir()
		r := bytes.NewReader(c.content)
		format, err := Detect(r)
		if err == nil {
			_, err = Extract(r, r.Size(), format, dir, Limits{}, nil)
		}
		files, read := os.ReadDir(dir)
		if err := errors.Join(err, read); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var executable []string
		for _, f := range files {
			if info, err := os.Stat(filepath.Join(dir, f.Name())); err == nil && info.Mode()&0o111 != 0 {
				executable = append(executable, f.Name())
			}
		}
		if got := strings.Join(executable, " "); got != c.executable {
			t.Errorf("%s: executable are %q, want %q", name, got, c.executable)
		}
	}
}

// An archive of many files shows how far it is, whatever its format.
func TestExtract_Progress(t *testing.T) {
	t.Parallel()
	items := make([]item, 400)
	for i := range items {
		items[i] = item{name: fmt.Sprintf("assets/%d/%d", i%10, i), content: strings.Repeat(fmt.Sprint(i), 40)}
	}
	ball := tarOf(t, items...)
	for format, content := range map[string][]byte{Zip: zipOf(t, items...), Tar: ball, TarGz: gzipped(t, ball)} {
		r := bytes.NewReader(content)
		last, steps, files := 0, map[int]bool{}, 0
		_, err := Extract(r, r.Size(), format, t.TempDir(), Limits{}, func(done Contents, percent int) {
			if percent < last || percent > 100 || done.Files != files+1 {
				t.Errorf("%s: %d %% and file %d after %d %% and %d", format, percent, done.Files, last, files)
			}
			last, files, steps[percent/25] = percent, done.Files, true
		})
		if err != nil || files != len(items) || format != TarGz && (!steps[0] || !steps[3]) {
			t.Errorf("%s: %v; %d files, %d %% at the end, by quarters %v", format, err, files, last, steps)
		}
	}
}
