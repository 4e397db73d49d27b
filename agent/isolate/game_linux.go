package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// showGame makes a folder visible at GameFolder. Where the machine has no such folder, the process
// gets a root of its own, in memory, in which everything of the machine is at its path; the
// machine's root is not changed.
func showGame(dir string) error {
	game, err := openPlace(dir)
	if err != nil {
		return err
	}
	defer game.Close()
	if info, err := os.Stat(GameFolder); err != nil || !info.IsDir() {
		return newRoot(dir, game)
	}
	return bindGame(game, GameFolder)
}

func bindGame(game *os.File, at string) error {
	if err := unix.Mount(place(game), at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount the build: %w", err)
	}
	return unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "")
}

// newRoot makes the process's root a folder in memory, which is mounted at dir while it is being
// made. Its GameFolder is the build's.
func newRoot(dir string, game *os.File) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("mount a new root: %w", err)
	}
	// Otherwise it would be in itself, where dir is.
	if err := unix.Mount("", dir, "", unix.MS_UNBINDABLE, ""); err != nil {
		return fmt.Errorf("keep the new root out of itself: %w", err)
	}
	local := filepath.Dir(GameFolder)
	if err := mirror("/", dir, local[1:]); err != nil {
		return err
	}
	if err := os.Mkdir(dir+local, 0o755); err != nil {
		return err
	}
	if err := mirror(local, dir+local, filepath.Base(GameFolder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(dir+GameFolder, 0o755); err != nil {
		return err
	}
	if err := bindGame(game, dir+GameFolder); err != nil {
		return err
	}
	if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("make the new root read-only: %w", err)
	}
	if err := enterRoot(dir); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	return nil
}

// mirror makes everything in a folder visible in another one, except for one name.
func mirror(from, to, except string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		if err := mirrorOne(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), e.Type()); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(from, e.Name()), err)
		}
	}
	return nil
}

func mirrorOne(from, to string, kind fs.FileMode) error {
	switch {
	case kind&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case kind.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(to, nil, 0o644); err != nil {
			return err
		}
	}
	return unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
}

// enterRoot makes a mounted folder the root, and takes the former one away.
func enterRoot(dir string) error {
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	err := unix.PivotRoot(".", ".") // the former root is then on top of the new one
	if err == nil {
		err = unix.Unmount(".", unix.MNT_DETACH)
	} else if errors.Is(err, unix.EINVAL) { // the former root is that of the system's start, which stays below
		if err = unix.Mount(".", "/", "", unix.MS_MOVE, ""); err == nil {
			err = unix.Chroot(".")
		}
	}
	return errors.Join(err, unix.Chdir("/"))
}
