package isolate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Restrict limits where the processes of a group may send to. It covers connections
// and datagrams of TCP and UDP, but not answers on connections that came in. It lasts
// as long as the group.
func (g *Group) Restrict(e Egress) error {
	dir := g.unified()
	if dir == "" {
		return fmt.Errorf("restrict where processes send to: %w: there are no control groups of version 2", ErrUnavailable)
	}
	if err := restrict(dir, e); err != nil {
		return fmt.Errorf("restrict where processes send to: %w", err)
	}
	return nil
}

func restrict(dir string, e Egress) error {
	group, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer group.Close()
	rules := e.rules()
	for _, hook := range []struct {
		at      uint32
		program []instruction
	}{
		{unix.BPF_CGROUP_INET4_CONNECT, egressV4(rules)},
		{unix.BPF_CGROUP_UDP4_SENDMSG, egressV4(rules)},
		{unix.BPF_CGROUP_INET6_CONNECT, egressV6(rules)},
		{unix.BPF_CGROUP_UDP6_SENDMSG, egressV6(rules)},
	} {
		program, err := load(hook.at, hook.program)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		err = attach(int(group.Fd()), program, hook.at)
		unix.Close(program) // the group has it now
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return nil
}

// maxInterrupted is how often a program is given to the verifier, at most.
const maxInterrupted = 20

// load has the kernel verify a program for a hook, and returns it as a file
// descriptor.
func load(hook uint32, program []instruction) (int, error) {
	license, said := []byte("Apache-2.0\x00"), make([]byte, 4096)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	address := func(p any) uint64 {
		pinner.Pin(p)
		return uint64(reflect.ValueOf(p).Pointer())
	}
	attr := struct { // union bpf_attr of BPF_PROG_LOAD
		kind, count       uint32
		code, license     uint64
		logLevel, logSize uint32
		log               uint64
		version, flags    uint32
		name              [16]byte
		ifindex, hook     uint32
	}{
		kind: unix.BPF_PROG_TYPE_CGROUP_SOCK_ADDR, count: uint32(len(program)), hook: hook,
		code: address(&program[0]), license: address(&license[0]), name: [16]byte{'m', 'u', 's', 't', 'e', 'r'},
	}
	verify := func() (fd int, err error) {
		for range maxInterrupted { // the verifier gives up when a signal comes, as the runtime's do
			if fd, err = bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr)); !errors.Is(err, unix.EAGAIN) {
				break
			}
		}
		return fd, err
	}
	fd, err := verify()
	if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EAGAIN) { // again, for the verifier's messages
		attr.logLevel, attr.logSize, attr.log = 1, uint32(len(said)), address(&said[0])
		if again, failed := verify(); failed == nil {
			fd, err = again, nil
		} else {
			err = fmt.Errorf("%w %s", err, strings.TrimSpace(unix.ByteSliceToString(said)))
		}
	}
	if err != nil {
		return 0, fmt.Errorf("load program: %w", err)
	}
	return fd, nil
}

func attach(group, program int, hook uint32) error {
	attr := struct{ target, program, hook, flags uint32 }{uint32(group), uint32(program), hook, unix.BPF_F_ALLOW_MULTI}
	if _, err := bpf(unix.BPF_PROG_ATTACH, unsafe.Pointer(&attr), unsafe.Sizeof(attr)); err != nil {
		return fmt.Errorf("attach program to group: %w", err)
	}
	return nil
}

func bpf(command int, attr unsafe.Pointer, size uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_BPF, uintptr(command), uintptr(attr), size)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// instruction is one of extended BPF (struct bpf_insn).
type instruction struct {
	code      uint8
	registers uint8 // the destination in the lower half, the source in the upper
	jump      int16
	value     int32
}

// The use of registers while rules are evaluated: an address in four words in host
// byte order, of which version 4 uses the last, the port and the protocol.
const (
	result   = 0
	context  = 1
	word0    = 2 // to 5
	port     = 6
	protocol = 7
	scratch  = 8
)

// Offsets in a program's view of an address (struct bpf_sock_addr).
const (
	atAddress4 = 4
	atAddress6 = 8
	atPort     = 24
	atProtocol = 36
)

func egressV4(rules []rule) []instruction {
	p := []instruction{read(word0+3, atAddress4), ordered(word0+3, 32)}
	p = append(p, readRest()...)
	return append(p, decide(rules, true)...)
}

// egressV6 treats an address of version 4 in the form of version 6 as what it is.
func egressV6(rules []rule) []instruction {
	var p []instruction
	for n := range 4 {
		p = append(p, read(word0+n, atAddress6+4*n), ordered(word0+n, 32))
	}
	p = append(p, readRest()...)
	mapped := decide(rules, true)
	p = append(p,
		jump(unix.BPF_JNE, word0, 0, len(mapped)+2),
		jump(unix.BPF_JNE, word0+1, 0, len(mapped)+1),
		jump(unix.BPF_JNE, word0+2, 0xffff, len(mapped)))
	p = append(p, mapped...)
	return append(p, decide(rules, false)...)
}

func readRest() []instruction {
	return []instruction{read(port, atPort), ordered(port, 16), read(protocol, atProtocol)}
}

// decide evaluates the rules of an IP version and ends the program.
func decide(rules []rule, v4 bool) []instruction {
	var p []instruction
	for _, r := range rules {
		if r.to.Addr().Is4() == v4 {
			p = append(p, r.program()...)
		}
	}
	return append(p, end(true)...)
}

// program ends with the rule's decision if the rule applies, and otherwise continues
// after itself.
func (r rule) program() []instruction {
	decision := end(r.allow)
	var tests []instruction // each jumps to the end if it does not hold; the offset is set last
	add := func(code uint8, register int, value uint32) { tests = append(tests, jump(code, register, value, 0)) }
	words, bits := [4]uint32{}, r.to.Bits()
	first := 0
	if r.to.Addr().Is4() {
		a := r.to.Addr().As4()
		first, words[3] = 3, binary.BigEndian.Uint32(a[:])
	} else {
		a := r.to.Addr().As16()
		for n := range words {
			words[n] = binary.BigEndian.Uint32(a[4*n:])
		}
	}
	for n := first; n < 4 && bits > 0; n, bits = n+1, bits-32 {
		register := word0 + n
		if bits < 32 {
			tests = append(tests, instruction{unix.BPF_ALU | unix.BPF_MOV | unix.BPF_X, scratch | uint8(register)<<4, 0, 0},
				instruction{unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, scratch, 0, int32(^uint32(0) << (32 - bits))})
			register = scratch
		}
		add(unix.BPF_JNE, register, words[n])
	}
	if r.up > 0 {
		add(unix.BPF_JLT, port, uint32(r.from))
		add(unix.BPF_JGT, port, uint32(r.up))
	}
	if r.udp {
		add(unix.BPF_JNE, protocol, unix.IPPROTO_UDP)
	}
	for n := range tests {
		if tests[n].code&7 == unix.BPF_JMP32 {
			tests[n].jump = int16(len(tests) - n - 1 + len(decision))
		}
	}
	return append(tests, decision...)
}

func read(register, at int) instruction {
	return instruction{unix.BPF_LDX | unix.BPF_MEM | unix.BPF_W, uint8(register) | context<<4, int16(at), 0}
}

// ordered converts a register from network byte order to host byte order.
func ordered(register, bits int) instruction {
	return instruction{unix.BPF_ALU | unix.BPF_END | unix.BPF_TO_BE, uint8(register), 0, int32(bits)}
}

func jump(code uint8, register int, value uint32, over int) instruction {
	return instruction{unix.BPF_JMP32 | code | unix.BPF_K, uint8(register), int16(over), int32(value)}
}

func end(allow bool) []instruction {
	verdict := int32(0)
	if allow {
		verdict = 1
	}
	return []instruction{
		{unix.BPF_ALU64 | unix.BPF_MOV | unix.BPF_K, result, 0, verdict},
		{unix.BPF_JMP | unix.BPF_EXIT, 0, 0, 0},
	}
}
