package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/archive"
)

// Build identifies what to install.
type Build struct {
	SHA256 string // of the archive, in lower-case hex
	Size   int64  // of the archive, in bytes
	Format string // zip, tar or tar.gz
}

// Source returns the bytes of an archive from an offset on; from is where they really
// begin, which is 0 if the source cannot resume.
type Source func(ctx context.Context, sha256 string, offset int64) (body io.ReadCloser, from int64, err error)

// Cache is the set of builds on a machine. Create one with New.
type Cache struct {
	opts Options

	mu   sync.Mutex
	busy map[string]chan struct{} // builds being installed; closed when done
	used map[string]time.Time     // when a build was last requested
}

// Options configures a Cache. Zero members mean the defaults.
type Options struct {
	Dir        string // required
	Source     Source // required
	Limits     archive.Limits
	Tries      int                         // attempts at a download; default 5
	RetryAfter time.Duration               // pause after the first failed attempt, doubling; default 1 s
	ScriptTime time.Duration               // most time of an install script; default 10 min
	Free       func() (total, free uint64) // of the file system, in bytes; if nil, it never runs full
	Log        *slog.Logger                // default slog.Default()

	// Staging is the folder in which builds are unpacked and their install scripts
	// run. It must be on the file system of Dir. Default: next to the installed
	// builds.
	Staging string
	// Guest starts an install script's command as a user who may only write the
	// build's folder. dismiss is called when the command has ended, and takes the
	// folder back. If Guest is nil, scripts run as the agent's user.
	Guest func(cmd *exec.Cmd, dir string) (dismiss func() error, err error)
}

// New returns a cache and creates its folders.
func New(o Options) (*Cache, error) {
	o.Tries = cmp.Or(o.Tries, 5)
	o.RetryAfter = cmp.Or(o.RetryAfter, time.Second)
	o.ScriptTime = cmp.Or(o.ScriptTime, 10*time.Minute)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Staging = cmp.Or(o.Staging, filepath.Join(o.Dir, "builds"))
	var errs []error
	for _, dir := range []string{filepath.Join(o.Dir, "archives"), filepath.Join(o.Dir, "builds"), o.Staging} {
		errs = append(errs, os.MkdirAll(dir, 0o755))
	}
	errs = append(errs, os.Chmod(o.Dir, 0o700)) // game servers see their own build, in trees
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("make build cache: %w", err)
	}
	return &Cache{opts: o, busy: map[string]chan struct{}{}, used: map[string]time.Time{}}, nil
}

// Stage is the stage of an installation, or where it failed.
type Stage string

// The stages, in order.
const (
	Download Stage = "download"
	Unpack   Stage = "unpack"
	Script   Stage = "script"
)

// Failure reports at which stage an installation failed, and why, for people.
type Failure struct {
	Stage Stage
	Text  string
	Err   error
}

func (f *Failure) Error() string { return f.Text }
func (f *Failure) Unwrap() error { return f.Err }

var checksum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Install returns the folder of an installed build, and installs it first if it is
// not there. progress, which may be nil, is called with the stage and how much of it is
// done, in percent: of the bytes to download, of the archive to unpack. Errors: *Failure, ctx's.
func (c *Cache) Install(ctx context.Context, b Build, progress func(Stage, int)) (string, error) {
	if !checksum.MatchString(b.SHA256) {
		return "", &Failure{Stage: Download, Text: fmt.Sprintf("the build's checksum %q is no SHA-256", b.SHA256)}
	}
	if progress == nil {
		progress = func(Stage, int) {}
	}
	dir := filepath.Join(c.opts.Dir, "builds", b.SHA256)
	for {
		done, mine := c.claim(b.SHA256)
		if mine {
			err := c.install(ctx, b, dir, progress)
			c.release(b.SHA256, done)
			return dir, err
		}
		select {
		case <-done:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// claim makes the caller install the build, or returns a channel that is closed when
// another caller is done.
func (c *Cache) claim(sha string) (done chan struct{}, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[sha] = time.Now()
	if done, ok := c.busy[sha]; ok {
		return done, false
	}
	done = make(chan struct{})
	c.busy[sha] = done
	return done, true
}

func (c *Cache) release(sha string, done chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, sha)
	close(done)
}

func (c *Cache) install(ctx context.Context, b Build, dir string, progress func(Stage, int)) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := c.room(b.Size); err != nil {
		return err
	}
	progress(Download, 0)
	packed, err := c.download(ctx, b, func(percent int) { progress(Download, percent) })
	if err != nil {
		return err
	}
	progress(Unpack, 0)
	fresh := filepath.Join(c.opts.Staging, b.SHA256+".new")
	if err := c.unpack(packed, b.Format, fresh, func(percent int) { progress(Unpack, percent) }); err != nil {
		return err
	}
	progress(Script, 100)
	if err := c.script(ctx, fresh, dir+".log"); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := protect(fresh); err != nil {
		return &Failure{Stage: Script, Text: err.Error(), Err: err}
	}
	if err := os.Rename(fresh, dir); err != nil {
		return &Failure{Stage: Unpack, Text: "keep the build: " + err.Error(), Err: err}
	}
	if err := os.Remove(packed); err != nil {
		c.opts.Log.Warn("archive not removed", "file", packed, "error", err)
	}
	return nil
}

// unpack unpacks an archive into a new folder. It calls progress each time that another percent of
// the archive is done.
func (c *Cache) unpack(packed, format, dir string, progress func(percent int)) error {
	fail := func(err error) error { return &Failure{Stage: Unpack, Text: err.Error(), Err: err} }
	if err := os.RemoveAll(dir); err != nil {
		return fail(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil { // other games of this machine can access STAGING
		return fail(err)
	}
	file, err := os.Open(packed)
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fail(err)
	}
	if format == "" {
		if format, err = archive.Detect(file); err != nil {
			return fail(err)
		}
	}
	last := 0
	_, err = archive.Extract(file, info.Size(), format, dir, c.opts.Limits, func(_ archive.Contents, percent int) {
		if percent != last {
			last = percent
			progress(percent)
		}
	})
	if err != nil {
		return fail(errors.Join(err, os.RemoveAll(dir)))
	}
	return nil
}
