package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// item is one entry of an archive under test.
type item struct {
	name, content, link string
	mode                fs.FileMode
	kind                byte // tar's type flag; 0 is a file
}

func zipOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, it := range items {
		h := &zip.FileHeader{Name: it.name, Method: zip.Deflate}
		mode := it.mode
		if mode == 0 {
			mode = 0o644
		}
		content := it.content
		if it.link != "" {
			mode, content = fs.ModeSymlink|0o777, it.link
		}
		h.SetMode(mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil && !strings.HasSuffix(it.name, "/") {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func tarOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, it := range items {
		h := &tar.Header{Name: it.name, Linkname: it.link, Typeflag: it.kind, Mode: int64(it.mode.Perm()), Size: int64(len(it.content))}
		if it.mode&fs.ModeSetuid != 0 {
			h.Mode |= 0o4000
		}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
			if it.link != "" {
				h.Typeflag = tar.TypeSymlink
			}
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(it.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

var good = []item{
	{name: "install.sh", content: "#!/bin/sh\n", mode: 0o755},
	{name: "bin/server", content: "program", mode: 0o755},
	{name: "data/level.txt", content: strings.Repeat("level", 1000)},
	{name: "current", link: "bin/server"},
	{name: "data/up", link: "../bin/server"},
}

func TestExtract_UnpacksEveryFormat(t *testing.T) {
	t.Parallel()
	ball := tarOf(t, append(good, item{name: "bin/again", link: "bin/server", kind: tar.TypeLink})...)
	for format, content := range map[string][]byte{Zip: zipOf(t, good...), Tar: ball, TarGz: gzipped(t, ball)} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := bytes.NewReader(content)
			if got, err := Detect(r); err != nil || got != format {
				t.Fatalf("detected %q, %v", got, err)
			}
			checked, err := Check(r, r.Size(), format, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			extracted, err := Extract(r, r.Size(), format, dir, Limits{}, nil)
			if err != nil || extracted != checked {
				t.Fatalf("extracted %+v, %v; checked %+v", extracted, err, checked)
			}
			for _, name := range []string{"bin/server", "current", "data/up"} {
				if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "program" {
					t.Errorf("%s holds %q, %v", name, text, err)
				}
			}
			if info, err := os.Stat(filepath.Join(dir, "install.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
				t.Errorf("install.sh is not executable: %v %v", info, err)
			}
		})
	}
}

// Every hostile archive is refused with a reason, by Check and by Extract, and
// nothing is written outside the folder.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content []byte
		format  string
		reason  string
	}{
		"climbs":          {zipOf(t, item{name: "../evil", content: "x"}), Zip, "climbs out"},
		"climbs later":    {tarOf(t, item{name: "a/../../evil", content: "x"}), Tar, "climbs out"},
		"backslashes":     {zipOf(t, item{name: `..\evil`, content: "x"}), Zip, "climbs out"},
		"absolute":        {tarOf(t, item{name: "/etc/evil", content: "x"}), Tar, "absolute"},
		"drive":           {zipOf(t, item{name: `C:\evil`, content: "x"}), Zip, "absolute"},
		"link out":        {zipOf(t, item{name: "l", link: "../x"}), Zip, "leads out"},
		"link absolute":   {tarOf(t, item{name: "l", link: "/etc/passwd"}), Tar, "only relative targets are allowed"},
		"through a link":  {tarOf(t, item{name: "d", link: "."}, item{name: "d/evil", content: "x"}), Tar, "below"},
		"link replaced":   {tarOf(t, item{name: "l", link: "a"}, item{name: "l", content: "x"}), Tar, "twice"},
		"hard link out":   {tarOf(t, item{name: "h", link: "../../etc/passwd", kind: tar.TypeLink}), Tar, "climbs out"},
		"hard to symlink": {tarOf(t, item{name: "l", link: "x"}, item{name: "h", link: "l", kind: tar.TypeLink}), Tar, "hard link"},
		"device":          {tarOf(t, item{name: "null", kind: tar.TypeChar}), Tar, "a device"},
		"fifo":            {tarOf(t, item{name: "pipe", kind: tar.TypeFifo}), Tar, "a named pipe"},
		"setuid":          {tarOf(t, item{name: "su", content: "x", mode: fs.ModeSetuid | 0o755}), Tar, "setuid"},
		"bomb":            {zipOf(t, item{name: "zeros", content: strings.Repeat("\x00", 8<<20)}), Zip, "times its size"},
		"gzip bomb":       {gzipped(t, tarOf(t, item{name: "zeros", content: strings.Repeat("\x00", 8<<20)})), TarGz, "times its size"},
		"empty":           {zipOf(t), Zip, "empty"},
		"cut off":         {gzipped(t, tarOf(t, good...))[:200], TarGz, "damaged"},
		"no zip":          {[]byte("PK\x03\x04 and then nothing"), Zip, "cannot be read"},
		// A link with an acceptable target may still lead out through another one; Check detects that
		// without a file system.
		"link up past the top":       {tarOf(t, item{name: "a/b/c/f", content: "x"}, item{name: "deep", link: "a/b/c"}, item{name: "x/evil", link: "../deep/../../../../.."}), Tar, "leads out"},
		"link fine by its name only": {tarOf(t, item{name: "p/q/a", link: "../.."}, item{name: "evil", link: "p/q/a/../f"}, item{name: "f", content: "x"}), Tar, "leads out"},
		"links in a circle":          {tarOf(t, item{name: "a", link: "b"}, item{name: "b", link: "a"}, item{name: "f", content: "x"}), Tar, "in a circle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := t.TempDir()
			dir := filepath.Join(outer, "in")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			r := bytes.NewReader(c.content)
			_, checked := Check(r, r.Size(), c.format, Limits{})
			_, extracted := Extract(r, r.Size(), c.format, dir, Limits{}, nil)
			for what, err := range map[string]error{"Check": checked, "Extract": extracted} {
				var refused *Refused
				if !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.reason) {
					t.Errorf("%s: %v, want a refusal with %q", what, err, c.reason)
				}
			}
			if entries, _ := os.ReadDir(outer); len(entries) != 1 {
				t.Errorf("something was written beside the folder: %v", entries)
			}
		})
	}
}

func TestCheck_Limits(t *testing.T) {
	t.Parallel()
	content := zipOf(t, good...)
	r := bytes.NewReader(content)
	for name, limits := range map[string]Limits{"files": {Files: 2}, "bytes": {Bytes: 100}} {
		var refused *Refused
		if _, err := Check(r, r.Size(), Zip, limits); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(zipOf(f, good...), Zip)
	f.Add(tarOf(f, good...), Tar)
	f.Add(gzipped(f, tarOf(f, good...)), TarGz)
	f.Add(zipOf(f, item{name: "../x", content: "x"}), Zip)
	f.Fuzz(func(t *testing.T, content []byte, format string) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(content)
		_, _ = Extract(r, r.Size(), format, dir, Limits{Files: 100, Bytes: 1 << 20}, nil)
		if entries, _ := os.ReadDir(outer); len(entries) != 1 {
			t.Fatalf("something was written beside the folder: %v", entries)
		}
		filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				if end, err := filepath.EvalSymlinks(p); err == nil && !strings.HasPrefix(end, dir) {
					t.Fatalf("%s leads to %s", p, end)
				}
			}
			return nil
		})
	})
}
