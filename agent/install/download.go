package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

// idle is how long a download may make no progress before it counts as cut off.
const idle = 30 * time.Second

// errChecksum reports that the download does not have the build's checksum.
var errChecksum = errors.New("what arrived does not have the build's checksum")

// download returns the path of a complete archive.
func (c *Cache) download(ctx context.Context, b Build, progress func(int)) (string, error) {
	path := filepath.Join(c.opts.Dir, "archives", b.SHA256)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	wait := c.opts.RetryAfter
	var err error
	for try := range c.opts.Tries {
		if try > 0 {
			c.opts.Log.Warn("build download failed, trying again", "build", b.SHA256, "try", try, "error", err)
			if !wake.Sleep(ctx, wait) {
				break
			}
			wait *= 2
		}
		if err = c.fetch(ctx, b, path+".part", progress); err == nil {
			if err = os.Rename(path+".part", path); err == nil {
				return path, nil
			}
		}
		if errors.Is(err, errChecksum) {
			err = errors.Join(err, os.Remove(path+".part"))
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", &Failure{Stage: Download, Err: err,
		Text: fmt.Sprintf("the build could not be downloaded in %d tries: %v", c.opts.Tries, err)}
}

// fetch continues a partial download, or begins one.
func (c *Cache) fetch(ctx context.Context, b Build, part string, progress func(int)) error {
	file, err := os.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	have, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if b.Size > 0 && have >= b.Size { // cut off between the last byte and the verification
		return verify(file, b)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, from, err := c.opts.Source(ctx, b.SHA256, have)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	if err := file.Truncate(from); err != nil {
		return err
	}
	watch := time.AfterFunc(idle, cancel)
	defer watch.Stop()
	in := &counted{r: body, n: from, size: b.Size, watch: watch, progress: progress}
	if _, err := io.Copy(file, in); err != nil {
		return fmt.Errorf("cut off after %d of %d bytes: %w", in.n, b.Size, err)
	}
	return verify(file, b)
}

// verify compares what arrived with the build's size and checksum.
func verify(file *os.File, b Build) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	if err != nil {
		return err
	}
	if b.Size > 0 && n < b.Size {
		return fmt.Errorf("cut off after %d of %d bytes", n, b.Size)
	}
	if hex.EncodeToString(sum.Sum(nil)) != b.SHA256 {
		return errChecksum
	}
	return file.Sync()
}

// counted monitors a download: it must not stall and must not exceed its size.
type counted struct {
	r        io.Reader
	n, size  int64
	shown    int
	watch    *time.Timer
	progress func(int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.watch.Reset(idle)
	if c.size <= 0 {
		return n, err
	}
	if c.n > c.size {
		return n, errChecksum
	}
	if percent := int(c.n * 100 / c.size); percent/10 > c.shown/10 {
		c.shown = percent
		c.progress(percent)
	}
	return n, err
}
