package live

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/setup"
)

// Digest returns the digest of the files of a build, "" if it names none: of a folder that of
// each file's path, mode and content, of an archive that of its bytes.
func Digest(b *setup.Build) (string, error) {
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
		if _, err := io.Copy(sum, f); err != nil {
			return "", err
		}
	case b.Folder != "":
		err := walk(b.Folder, func(name string, mode fs.FileMode, content io.Reader) error {
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
// compared with those of a server.
func Digests(s *setup.Setup) error {
	for name, b := range s.Builds {
		content, err := Digest(b)
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
		mode := fs.FileMode(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return each(name, mode, f)
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("%s has no files", folder)
	}
	return err
}

// pack writes a folder as a zip archive.
func pack(folder string, out io.Writer) error {
	z := zip.NewWriter(out)
	err := walk(folder, func(name string, mode fs.FileMode, content io.Reader) error {
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
