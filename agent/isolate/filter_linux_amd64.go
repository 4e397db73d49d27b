package isolate

import "golang.org/x/sys/unix"

const (
	architecture = unix.AUDIT_ARCH_X86_64
	foreign      = 0x40000000 // from here on numbers belong to the x32 ABI
	cloneFlags   = 0
)

var deniedHere = []uint32{
	unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS__SYSCTL, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS,
	unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
}
