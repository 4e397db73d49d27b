//go:build !linux

package sqlite

// syncData makes the data of an opened file durable if the system has a call for that.
func syncData(uintptr) (rc int32, ok bool) { return 0, false }
