//go:build linux && (amd64 || arm64)

package isolate

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are system calls that game servers do not need: those for the machine's
// administrator, and those in which kernels have had most of their vulnerabilities.
// They fail with EPERM, as they do without privileges. Each architecture adds its
// own.
var denied = append([]uint32{
	unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // they bypass filters
}, deniedHere...)

// tracing are system calls by which a process can access another one of the same
// user.
var tracing = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
}

// namespaces are the flags that create namespaces, in which a user has rights that
// only root has outside. CLONE_NEWTIME is a flag of unshare only.
const namespaces = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS

// families are the allowed kinds of sockets, and protocols the allowed internet
// protocols: those that egress rules cover (egress_linux.go).
var (
	families  = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	protocols = []uint32{unix.IPPROTO_IP, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_UDPLITE, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6}
)

// Offsets in a filter's view of a system call (struct seccomp_data); of an argument,
// the lower half, which is all that flags and kinds of sockets use.
const (
	atNumber       = 0
	atArchitecture = 4
	atArguments    = 16
)

// filter denies this thread, and the program it becomes, the denied system calls and,
// unless mayTrace is set, those that access other processes. The thread must already
// be unable to gain privileges. A program for another architecture, whose system
// calls have other numbers, is killed with SIGSYS.
func filter(mayTrace bool) error {
	program := filterProgram(mayTrace)
	code := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&code)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

func filterProgram(mayTrace bool) []unix.SockFilter {
	var p assembler
	p.load(atArchitecture)
	p.unless(unix.BPF_JEQ, architecture, ret(unix.SECCOMP_RET_KILL_PROCESS))
	p.load(atNumber)
	if foreign > 0 {
		p.when(unix.BPF_JGE, foreign, fails(unix.ENOSYS))
	}
	for _, number := range denied {
		p.when(unix.BPF_JEQ, number, fails(unix.EPERM))
	}
	if !mayTrace {
		for _, number := range tracing {
			p.when(unix.BPF_JEQ, number, fails(unix.EPERM))
		}
	}
	p.when(unix.BPF_JEQ, unix.SYS_CLONE3, fails(unix.ENOSYS)) // its flags are in memory that filters cannot read; libraries then use clone
	p.when(unix.BPF_JEQ, unix.SYS_CLONE, onArgument(cloneFlags, func(p *assembler) {
		p.when(unix.BPF_JSET, namespaces, fails(unix.EPERM))
	}))
	p.when(unix.BPF_JEQ, unix.SYS_UNSHARE, onArgument(0, func(p *assembler) {
		p.when(unix.BPF_JSET, namespaces|unix.CLONE_NEWTIME, fails(unix.EPERM))
	}))
	p.when(unix.BPF_JEQ, unix.SYS_SOCKET, socketRules())
	p.add(ret(unix.SECCOMP_RET_ALLOW))
	return p.code
}

// socketRules returns the rules for the system call socket: family, type, protocol.
func socketRules() assembler {
	return onArgument(0, func(p *assembler) {
		var inet, other assembler
		inet = onArgument(2, func(p *assembler) {
			for _, protocol := range protocols {
				p.when(unix.BPF_JEQ, protocol, ret(unix.SECCOMP_RET_ALLOW))
			}
			p.add(fails(unix.EPROTONOSUPPORT))
		})
		p.when(unix.BPF_JEQ, unix.AF_INET, inet)
		p.when(unix.BPF_JEQ, unix.AF_INET6, inet)
		for _, family := range families {
			other.when(unix.BPF_JEQ, family, ret(unix.SECCOMP_RET_ALLOW))
		}
		other.add(fails(unix.EAFNOSUPPORT))
		p.add(other)
	})
}

// assembler builds programs of classic BPF.
type assembler struct{ code []unix.SockFilter }

func (p *assembler) add(more assembler) { p.code = append(p.code, more.code...) }

func (p *assembler) load(at uint32) {
	p.code = append(p.code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at})
}

// when runs then only if the comparison holds.
func (p *assembler) when(comparison uint16, value uint32, then assembler) {
	p.code = append(p.code, unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, Jf: uint8(len(then.code)), K: value})
	p.add(then)
}

// unless runs then only if the comparison does not hold.
func (p *assembler) unless(comparison uint16, value uint32, then assembler) {
	p.code = append(p.code, unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, Jt: uint8(len(then.code)), K: value})
	p.add(then)
}

// onArgument applies rules to an argument; if they decide nothing, the call is
// allowed.
func onArgument(n uint32, rules func(*assembler)) assembler {
	var p assembler
	p.load(atArguments + 8*n)
	rules(&p)
	p.add(ret(unix.SECCOMP_RET_ALLOW))
	return p
}

func ret(action uint32) assembler {
	return assembler{[]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: action}}}
}

func fails(errno syscall.Errno) assembler { return ret(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
