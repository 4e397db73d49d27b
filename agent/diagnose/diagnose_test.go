package diagnose

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
		{"stdout", End{Known: true, Code: 3, Lived: time.Second, Said: []string{"no map", ""}}, `exited with code 3 1s after its start; its last words on stdout: "no map"`},
		{"both", End{Known: true, Code: 3, Lived: time.Second, Tail: []string{"no config"}, Said: []string{"no map"}}, `exited with code 3 1s after its start; its last words on stderr: "no config"`},
		{"a trace on stdout", End{Known: true, Code: 2, Lived: time.Second, Tail: []string{"bye"}, Said: []string{"panic: no map", "", "goroutine 1 [running]:", "main.main()"}}, `exited with code 2 1s after its start: "panic: no map"`},
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

// goTrace returns the end of a Go program with so many frames below its panic.
func goTrace(frames int) []string {
	all := []string{"map three is loaded", "panic: runtime error: invalid memory address or nil pointer dereference", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4a2b1c]", "", "goroutine 21 [running]:", "panic({0x4a1b20?, 0x4e8e50?})", "\t/usr/local/go/src/runtime/panic.go:785 +0x132"}
	for n := range frames {
		all = append(all, fmt.Sprintf("arena/world.(*Map).load(0xc000012345, {0x4b2c, %d})", n), fmt.Sprintf("\t/build/arena/world/map.go:%d +0x1d", n))
	}
	return append(all, "created by main.run in goroutine 1", "\t/build/arena/main.go:31 +0x8f", "exit status 2")
}

// Of a stack trace the line is quoted that says what happened, however long the trace is.
func TestExit_Traces(t *testing.T) {
	t.Parallel()
	const start = "exited with code 2 1s after its start"
	const broken = `"panic: runtime error: invalid memory address or nil pointer dereference"`
	for name, test := range map[string]struct {
		tail []string
		want string
	}{
		"Go":               {goTrace(1), ": " + broken},
		"Go, longer":       {goTrace(40), ": " + broken},
		"Go, as it is cut": {goTrace(40)[5:], `; its last words on stderr: "exit status 2"`},
		"Go, at the end":   {append(goTrace(40), "could not save"), ": " + broken},
		"C++":              {[]string{"terminate called after throwing an instance of 'std::runtime_error'", "  what():  no map"}, `: "terminate called after throwing an instance of 'std::runtime_error'  what():  no map"`},
		"C#":               {[]string{"Unhandled exception. System.IO.FileNotFoundException: no map", "   at Arena.Map.Load() in /build/Map.cs:line 12", "   at Arena.Program.Main()"}, `: "System.IO.FileNotFoundException: no map"`},
		"C#, of another": {[]string{"Unhandled exception. System.InvalidOperationException: no game ---> System.IO.FileNotFoundException: no map", "   at Arena.Map.Load()", "   --- End of inner exception stack trace ---", "   at Arena.Program.Main()"},
			`: "System.IO.FileNotFoundException: no map, which became System.InvalidOperationException"`},
		"Mono": {[]string{"", "Unhandled Exception:", "System.NullReferenceException: Object reference not set", "  at Arena.Physics.Step () [0x00001] in <1a2b>:0 ", "[ERROR] FATAL UNHANDLED EXCEPTION: System.NullReferenceException: Object reference not set", "  at Arena.Physics.Step () [0x00001] in <1a2b>:0 ", "[Inferior 1 (process 10) detached]"},
			`: "System.NullReferenceException: Object reference not set"`},
		"Mono, the head alone": {[]string{"Unhandled Exception:", "System.IO.IOException: no map", "  at Arena.Main () [0x0] in <1>:0 "}, `: "System.IO.IOException: no map"`},
		"Java": {[]string{`Exception in thread "main" java.lang.IllegalStateException: no game`, "\tat arena.Main.main(Main.java:3)", "Caused by: java.io.FileNotFoundException: no map", "\tat arena.Map.load(Map.java:9)", "\t... 1 more"},
			`: "java.io.FileNotFoundException: no map, which became java.lang.IllegalStateException"`},
		"Node.js":            {[]string{"/app/game.js:3", "throw new Error('no map')", "^", "", "Error: no map", "    at Object.<anonymous> (/app/game.js:3:7)", "    at Module._compile (node:internal/modules/cjs/loader:1554:14)", "", "Node.js v22.1.0"}, `: "Error: no map"`},
		"Python":             {[]string{"Traceback (most recent call last):", `  File "game.py", line 3, in <module>`, "ValueError: no map", "saving", "saved"}, `: "ValueError: no map"`},
		"Lua":                {[]string{"lua5.4: game.lua:3: no map", "stack traceback:", "\t[C]: in function 'error'", "\tgame.lua:3: in main chunk", "\t[C]: in ?"}, `: "game.lua:3: no map"`},
		"Rust":               {[]string{"thread 'main' panicked at src/main.rs:3:5:", "no map", "note: run with `RUST_BACKTRACE=1`"}, `: "thread 'main' panicked at src/main.rs:3:5: no map"`},
		"assert":             {[]string{"arena: map.c:12: load: Assertion `m != NULL' failed."}, ": \"arena: map.c:12: load: Assertion `m != NULL' failed.\""},
		"Unreal":             {[]string{"[2026.01.01-10.00.00:000][  0]LogWindows: Error: Fatal error: [File:Map.cpp] [Line: 12]", "no map"}, `: "Fatal error: [File:Map.cpp] [Line: 12]"`},
		"a log":              {[]string{"2026-01-01T10:00:00Z FATAL no map", "closing"}, `: "2026-01-01T10:00:00Z FATAL no map"`},
		"a log after panics": {append(slices.Concat(goTrace(40), slices.Repeat([]string{"tick"}, 30)), "no players"), `; its last words on stderr: "no players"`},
	} {
		if got := Exit(End{Known: true, Code: 2, Lived: time.Second, Tail: test.tail}); got != start+test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, start+test.want)
		}
	}
	trace := goTrace(40)
	last := Last(trace)
	if len(last) != 20 || last[0] != trace[1] || !slices.Equal(last[1:], trace[len(trace)-19:]) {
		t.Errorf("the last lines are %q", last)
	}
	if last := Last(trace[:7]); !slices.Equal(last, trace[:7]) {
		t.Errorf("all lines are the last, and are %q", last)
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
