package diagnose

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestExit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  End
		want string
	}{
		{"code", End{Known: true, Code: 3, Lived: 1200 * time.Millisecond, Tail: []string{"no config", ""}},
			`exited with code 3 1.2s after its start; its last words on stderr: "no config"`},
		{"silent", End{Known: true, Code: 1, Lived: 20 * time.Millisecond}, "exited with code 1 20ms after its start, and wrote nothing to stderr"},
		{"signal", End{Known: true, Code: -1, Signal: "SIGSEGV", Lived: time.Hour},
			"was ended by signal SIGSEGV (it touched memory that is not its own) 1h0m0s after its start, and wrote nothing to stderr"},
		{"memory", End{Known: true, Signal: "SIGKILL", OOM: true, LimitMiB: 64, Lived: time.Second},
			"was killed for want of memory (its limit is 64 MiB) 1s after its start, and wrote nothing to stderr"},
		{"library", End{Known: true, Code: 127, Lived: time.Millisecond, Tail: []string{"./s: error while loading shared libraries: libfoo.so.1: cannot open shared object file: No such file or directory"}},
			"exited with code 127 1ms after its start: the shared library libfoo.so.1 is missing on this machine; put it into the build or install it on the host"},
		{"port", End{Known: true, Code: 1, Port: 20001, Lived: time.Millisecond, Tail: []string{"listen udp :7777: bind: address already in use"}},
			"exited with code 1 1ms after its start: a port that it wants is in use (it was given port 20001, which was free: does it listen on another?)"},
		{"panic", End{Known: true, Code: 2, Lived: time.Millisecond, Tail: []string{"panic: no map", "", "goroutine 1 [running]:", "main.main()"}},
			`exited with code 2 1ms after its start: "panic: no map"`},
		{"glibc", End{Known: true, Code: 1, Tail: []string{"./s: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./s)"}},
			"exited with code 1 0s after its start: it needs GLIBC_2.38, which is newer than this machine's C library; build it on an older system or renew the host"},
		{"asked", End{Known: true, Signal: "SIGTERM", Asked: "scale-in"}, "was ended by signal SIGTERM after it was told to: scale-in"},
		{"unwatched", End{Lived: time.Minute}, "ended while nobody watched 1m0s after its start, and wrote nothing to stderr"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Exit(tt.end); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the files are judged as Linux judges them; run this on Linux")
	}
	dir := t.TempDir()
	foreign := elf.EM_AARCH64
	if runtime.GOARCH == "arm64" {
		foreign = elf.EM_X86_64
	}
	tests := []struct {
		name, content string
		mode          os.FileMode
		missing       bool
		want          string
	}{
		{"fine", "#!/bin/sh\n", 0o755, false, ""},
		{"not-executable", "#!/bin/sh\n", 0o644, false, "no execute permission"},
		{"empty", "", 0o755, false, "empty file"},
		{"windows", "MZ\x90", 0o755, false, "for Windows"},
		{"mac", "\xcf\xfa\xed\xfe....", 0o755, false, "for macOS"},
		{"interpreter", "#!/opt/none/python9\n", 0o755, false, "needs the interpreter /opt/none/python9"},
		{"carriage", "#!/bin/sh\r\n", 0o755, false, "Windows line ends"},
		{"text", "hello", 0o755, false, "is no program"},
		{"foreign", header(foreign), 0o755, false, "is made for"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, tt.name)
			if err := os.WriteFile(path, []byte(tt.content), tt.mode); err != nil {
				t.Fatal(err)
			}
			err := Program(path, tt.name)
			var p *Problem
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (!errors.As(err, &p) || !strings.Contains(p.Text, tt.want) || p.Missing):
				t.Errorf("got %v, want a problem with %q", err, tt.want)
			}
		})
	}
	var p *Problem
	if err := Program(filepath.Join(dir, "absent"), "absent"); !errors.As(err, &p) || !p.Missing {
		t.Errorf("an absent file: %v", err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := Program(own, "test"); err != nil {
		t.Errorf("this very program: %v", err)
	}
}

// header returns the beginning of an ELF program for a processor.
func header(machine elf.Machine) string {
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64, Phentsize: 56, Shentsize: 64}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	var text strings.Builder
	if err := binary.Write(&text, binary.LittleEndian, h); err != nil {
		panic(err)
	}
	return text.String()
}
