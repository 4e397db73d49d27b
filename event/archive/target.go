package archive

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/internal/atomicfile"
)

// Open returns the target for s3://BUCKET/PREFIX, whose PREFIX may be absent, or for the name
// of a folder. It sends nothing.
func Open(ctx context.Context, at string) (Target, error) {
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
