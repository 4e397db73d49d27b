package live

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/musterhq/muster/internal/archive"
	"github.com/musterhq/muster/setup"
)

// Working shows what goes on, and how far it is, if it is time; text is called only then.
type Working func(text func() string)

// show shows a text. w may be nil.
func (w Working) show(format string, args func() []any) {
	if w != nil {
		w(func() string { return fmt.Sprintf(format, args()...) })
	}
}

// Digest returns the digest of the files of a build, "" if it names none: of a folder that of
// each file's path, mode and content, of an archive that of its bytes. working, which may be nil, is
// called often.
func Digest(b *setup.Build, working Working) (string, error) {
	sum := sha256.New()
	switch {
	case b.Content != "":
		return b.Content, nil
	case b.Archive != "":
		f, err := os.Open(b.Archive)
		if err != nil {
			return "", err
		}
		defer f.Close()
		read := &metered{in: f, read: func(n int64) {
			working.show("reading %s: %s", func() []any { return []any{b.Archive, bytesOf(n)} })
		}}
		if _, err := io.Copy(sum, read); err != nil {
			return "", err
		}
	case b.Folder != "":
		files := 0
		err := walk(b.Folder, func(name string, mode fs.FileMode, content io.Reader) error {
			files++
			working.show("reading %s: %d files", func() []any { return []any{b.Folder, files} })
			inner := sha256.New()
			if _, err := io.Copy(inner, content); err != nil {
				return err
			}
			fmt.Fprintf(sum, "%q %s %x\n", name, mode, inner.Sum(nil))
			return nil
		})
		if err != nil {
			return "", err
		}
	default:
		return "", nil
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// Digests fills in the Content of builds that name a folder or an archive, so that they can be
// compared with those of a server. working, which may be nil, is called often.
func Digests(s *setup.Setup, working Working) error {
	for name, b := range s.Builds {
		content, err := Digest(b, working)
		if err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
		b.Content = content
	}
	return nil
}

// walk calls each for the files and links of a folder in the order of their paths, with a slash
// between the parts. Of a mode only the execute permission counts; the content of a link is its
// target. Folders without files are left out.
func walk(folder string, each func(name string, mode fs.FileMode, content io.Reader) error) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	files := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := root.Readlink(name)
			if err != nil {
				return err
			}
			return each(name, fs.ModeSymlink|0o777, strings.NewReader(filepath.ToSlash(target)))
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file, a folder nor a link", name)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		content, mode := bufio.NewReader(f), fs.FileMode(0o644)
		if executable(info.Mode(), content) {
			mode = 0o755
		}
		return each(name, mode, content)
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("%s has no files", folder)
	}
	return err
}

// executable reports whether a file may be executed. Windows does not say that of files for other
// systems: there, programs and scripts are executable.
func executable(mode fs.FileMode, content *bufio.Reader) bool {
	if runtime.GOOS != "windows" {
		return mode&0o111 != 0
	}
	head, _ := content.Peek(archive.ProgramHead) // a short file is no error
	return archive.IsProgram(head)
}

// pack writes a folder as a zip archive.
func pack(folder string, out io.Writer, working Working) error {
	z, files := zip.NewWriter(out), 0
	err := walk(folder, func(name string, mode fs.FileMode, content io.Reader) error {
		files++
		working.show("packing %s: %d files", func() []any { return []any{folder, files} })
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(w, content)
		}
		return err
	})
	if err != nil {
		return err
	}
	return z.Close()
}
