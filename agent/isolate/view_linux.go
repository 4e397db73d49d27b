package isolate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// view is a process's view of the file system while it is being set up.
type view struct {
	kept []kept
	tops []string // folders that have been replaced
}

// kept is a file or folder that stays visible at its path, held open while folders
// above it are replaced.
type kept struct {
	path string
	file *os.File
}

// separate sets up the process's own view of the machine: private folders in place of
// shared ones, and, with Apart, no other processes, queues or shared memory.
func (o *order) separate() error {
	namespaces := unix.CLONE_NEWNS
	if o.Apart {
		namespaces |= unix.CLONE_NEWIPC
	}
	if err := unix.Unshare(namespaces); err != nil {
		return fmt.Errorf("see the machine by itself: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("see folders by itself: %w", err)
	}
	defer unix.Umask(unix.Umask(0)) // everyone may pass through folders on the way to what is kept
	here, err := unix.Getwd()
	if err != nil {
		return fmt.Errorf("see folders by itself: %w", err)
	}
	var v view
	if err := v.hold(o.Keep); err != nil {
		return err
	}
	defer v.release()
	if err := v.replace(o.Mounts, o.Hide); err != nil {
		return err
	}
	if o.Game != "" {
		if err := showGame(o.Game); err != nil {
			return fmt.Errorf("have %s at %s: %w", o.Game, GameFolder, err)
		}
	}
	if o.Apart && !o.First {
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("see its own processes alone: %w", err)
		}
	}
	if err := unix.Chdir(here); err != nil { // the same folder by its new path
		return fmt.Errorf("be in %s: %w", here, err)
	}
	return nil
}

// hold opens the paths to be kept, as far as they exist.
func (v *view) hold(paths []string) error {
	for _, path := range paths {
		file, err := openPlace(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
		v.kept = append(v.kept, kept{path, file})
	}
	return nil
}

func (v *view) release() {
	for _, k := range v.kept {
		k.file.Close()
	}
}

// openPlace opens a path for use in mounts, not for reading.
func openPlace(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// place returns a path for the system call mount that names an open file.
func place(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// replace replaces folders, hides some, and brings back what is kept.
func (v *view) replace(mounts []Mount, hide []string) error {
	for _, m := range mounts {
		if err := v.mount(m); err != nil {
			return fmt.Errorf("have %s at %s: %w", cmp.Or(m.From, "memory"), m.At, err)
		}
		v.tops = append(v.tops, m.At)
	}
	hide = slices.Clone(hide)
	slices.SortFunc(hide, func(a, b string) int { return len(a) - len(b) }) // parent folders first
	var hidden []string
	for _, dir := range hide {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() || slices.ContainsFunc(v.tops, within(dir)) {
			continue // also what is in a folder that is already replaced
		}
		if err == nil {
			err = unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755,size=1m")
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", dir, err)
		}
		v.tops, hidden = append(v.tops, dir), append(hidden, dir)
	}
	for _, k := range v.kept {
		if err := v.bringBack(k); err != nil {
			return fmt.Errorf("keep %s: %w", k.path, err)
		}
	}
	for _, dir := range hidden {
		if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("hide %s: %w", dir, err)
		}
	}
	return nil
}

func (v *view) mount(m Mount) error {
	if m.From == "" {
		return unix.Mount("tmpfs", m.At, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	}
	if err := unix.Mount(m.From, m.At, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", m.At, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "")
}

// within returns a function that reports whether path is in a folder, or is that
// folder.
func within(path string) func(dir string) bool {
	return func(dir string) bool { return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }
}

// bringBack makes a kept path visible again if a folder above it was replaced.
// Missing folders on the way are created; links cannot lead out of the replaced
// folder.
func (v *view) bringBack(k kept) error {
	at := slices.IndexFunc(v.tops, within(k.path))
	if at < 0 {
		return nil
	}
	top := v.tops[at]
	rel, err := filepath.Rel(top, k.path)
	if err != nil || rel == "." {
		return err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := k.file.Stat()
	if err != nil {
		return err
	}
	spot, err := makePlace(root, rel, info.IsDir())
	if err != nil {
		return err
	}
	defer spot.Close()
	return unix.Mount(place(k.file), place(spot), "", unix.MS_BIND, "")
}

// makePlace creates or opens an empty file or folder, and creates the folders above
// it.
func makePlace(root *os.Root, rel string, isDir bool) (*os.File, error) {
	if isDir {
		if err := root.MkdirAll(rel, 0o755); err != nil {
			return nil, err
		}
		return root.OpenFile(rel, os.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return nil, err
	}
	return root.OpenFile(rel, os.O_RDONLY|os.O_CREATE, 0o644)
}
