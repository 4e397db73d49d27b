package jail

import "golang.org/x/sys/unix"

// ownerOf returns the number of the user who owns a file or folder, -1 if that is
// unknown.
func ownerOf(path string) int {
	var info unix.Stat_t
	if err := unix.Lstat(path, &info); err != nil {
		return -1
	}
	return int(info.Uid)
}
