package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/internal/atomicfile"
)

// Open returns the target for s3://BUCKET/PREFIX, whose PREFIX may be absent, or for the name
// of a folder. It sends nothing.
func Open(ctx context.Context, at string) (Target, error) { return open(ctx, at) }

// OpenSource is like Open, for reading.
func OpenSource(ctx context.Context, at string) (Source, error) { return open(ctx, at) }

func open(ctx context.Context, at string) (interface {
	Target
	Source
}, error) {
	scheme, rest, isURL := strings.Cut(at, "://")
	switch {
	case !isURL:
		return Folder(at), nil
	case scheme != "s3":
		return nil, fmt.Errorf("%s:// is not s3://; a folder is named without a scheme", scheme)
	}
	name, prefix, _ := strings.Cut(rest, "/")
	return openBucket(ctx, name, strings.Trim(prefix, "/"))
}

// Folder is a Target that stores objects as files in and below the folder with this name. It
// creates what is missing.
type Folder string

// String returns the name of the folder.
func (f Folder) String() string { return string(f) }

// Put implements Target. It syncs the file to disk.
func (f Folder) Put(_ context.Context, name string, data []byte) error {
	file := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, data, 0o600)
}

// At implements Source.
func (f Folder) At(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// Regions implements Source.
func (f Folder) Regions(context.Context) (all []string, err error) {
	entries, err := os.ReadDir(string(f))
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all, err
}

// List implements Source. It holds the names of one folder at each depth.
func (f Folder) List(ctx context.Context, region, from string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		root := f.At(region)
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			name, err := filepath.Rel(root, file)
			if err != nil || file == root {
				return err
			}
			name = filepath.ToSlash(name)
			switch {
			case name < from[:min(len(from), len(name))]: // all that is in it, too
				if d.IsDir() {
					return fs.SkipDir
				}
			case !d.IsDir() && !yield(region+"/"+name, nil):
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

// Get implements Source.
func (f Folder) Get(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(f.At(name))
}
