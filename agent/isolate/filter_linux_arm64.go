package isolate

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_AARCH64
	foreign      = 0 // there is one ABI
	cloneFlags   = 0
)

var deniedHere []uint32
