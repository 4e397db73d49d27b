package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Percentages of the disk that are used: above collectAt, unused builds are removed;
// above fullAt, no new one is installed. Neither applies while there is plenty of
// free space, because a percentage means little on a large disk.
const (
	collectAt = 80
	fullAt    = 90
	plenty    = 2 << 30 // bytes
)

// short reports whether share percent of a disk are used and less than plenty is
// free.
func short(total, free, share uint64) bool {
	return total > 0 && free < plenty && (total-free)*100/total >= share
}

// room returns an error if there is no room for an archive of size bytes and what it
// unpacks to.
func (c *Cache) room(size int64) error {
	if c.opts.Free == nil {
		return nil
	}
	total, free := c.opts.Free()
	if total == 0 || !short(total, free, fullAt) && uint64(size)*2 < free {
		return nil
	}
	return &Failure{Stage: Download, Text: fmt.Sprintf("the disk is too full for the build: %d MiB of %d MiB are free", free>>20, total>>20)}
}

// Collect removes what is not used, longest unused first, until the disk is less than
// 80 % full: builds that are not in inUse, and partial downloads that are a day old.
func (c *Cache) Collect(inUse map[string]bool) error {
	var errs []error
	for _, sha := range c.unused(inUse) {
		if !c.lowOnSpace() {
			break
		}
		errs = append(errs, c.remove(sha))
	}
	parts, _ := filepath.Glob(filepath.Join(c.opts.Dir, "archives", "*.part"))
	for _, part := range parts {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			errs = append(errs, os.Remove(part))
		}
	}
	return errors.Join(errs...)
}

func (c *Cache) lowOnSpace() bool {
	if c.opts.Free == nil {
		return false
	}
	total, free := c.opts.Free()
	return short(total, free, collectAt)
}

// unused lists the builds that are not in use, longest unused first.
func (c *Cache) unused(inUse map[string]bool) []string {
	entries, err := os.ReadDir(filepath.Join(c.opts.Dir, "builds"))
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, e := range entries {
		_, busy := c.busy[e.Name()]
		if e.IsDir() && checksum.MatchString(e.Name()) && !inUse[e.Name()] && !busy {
			list = append(list, e.Name())
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if d := c.used[a].Compare(c.used[b]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return list
}

// remove removes a build, unless somebody is installing it.
func (c *Cache) remove(sha string) error {
	done, mine := c.claim(sha)
	if !mine {
		return nil
	}
	defer c.release(sha, done)
	dir := filepath.Join(c.opts.Dir, "builds", sha)
	c.opts.Log.Info("removing a build that nobody uses", "build", sha)
	for _, name := range []string{dir, dir + ".log", filepath.Join(c.opts.Dir, "archives", sha)} {
		if err := os.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove build: %w", err)
		}
	}
	return nil
}
