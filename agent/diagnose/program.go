package diagnose

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// Problem says why a program cannot be started.
type Problem struct {
	Missing bool // the file itself is not there
	Text    string
}

func (p *Problem) Error() string { return p.Text }

func problem(format string, args ...any) error { return &Problem{Text: fmt.Sprintf(format, args...)} }

// Program checks a program's file before it is started. name is what people call it: its
// launch path. Errors: *Problem, or that the file cannot be read.
func Program(path, name string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Problem{Missing: true, Text: fmt.Sprintf("%s is not in the build", name)}
	case err != nil:
		return fmt.Errorf("look at %s: %w", name, err)
	case info.IsDir():
		return &Problem{Missing: true, Text: name + " is a folder, not a program"}
	case !info.Mode().IsRegular():
		return irregular(name)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return problem("%s may not be executed: its file has no execute permission; give it with chmod +x before packing, or in install.sh", name)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now, which could block
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return irregular(name)
	}
	head := make([]byte, 256)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return judge(file, head[:n], name)
}

// Elsewhere returns words that name a file of this name in the build, to follow "… is not in the
// build", or "" if there is none. A common mistake is that an archive has one more folder at its
// top.
func Elsewhere(game fs.FS, name string) string {
	found := ""
	_ = fs.WalkDir(game, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.EqualFold(d.Name(), name) {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	if found == "" {
		return ""
	}
	return ", but it has " + found
}

func irregular(name string) error { return problem("%s is no program: it is no regular file", name) }

func judge(file *os.File, head []byte, name string) error {
	switch {
	case len(head) == 0:
		return problem("%s is an empty file", name)
	case runtime.GOOS == "windows":
		return nil
	case bytes.HasPrefix(head, []byte("MZ")):
		return problem("%s is a program for Windows; this machine runs %s", name, runtime.GOOS)
	case bytes.HasPrefix(head, []byte("#!")):
		return script(head, name)
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return elfFile(file, name)
	case isMachO(head) && runtime.GOOS != "darwin":
		return problem("%s is a program for macOS; this machine runs %s", name, runtime.GOOS)
	case runtime.GOOS == "linux":
		return problem("%s is no program: it is neither an ELF file nor a script that begins with #!", name)
	}
	return nil
}

func isMachO(head []byte) bool {
	for _, magic := range []string{"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

// script checks that a script's interpreter exists.
func script(head []byte, name string) error {
	line, err := bufio.NewReader(bytes.NewReader(head)).ReadString('\n')
	if err != nil && len(head) >= 256 {
		return nil
	}
	if strings.HasSuffix(strings.TrimSuffix(line, "\n"), "\r") {
		return problem("%s has Windows line ends (CRLF), so its interpreter is not found; save it with Unix ones (LF)", name)
	}
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if len(words) == 0 {
		return problem("%s names no interpreter after #!", name)
	}
	if _, err := os.Stat(words[0]); err != nil {
		return problem("%s needs the interpreter %s, which is missing on this machine", name, words[0])
	}
	return nil
}

// machines maps Go's names of processors to ELF's.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "386": elf.EM_386, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM,
	"riscv64": elf.EM_RISCV, "ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390, "loong64": elf.EM_LOONGARCH,
}

// elfFile checks a program's processor, loader and libraries.
func elfFile(file *os.File, name string) error {
	if runtime.GOOS != "linux" {
		return problem("%s is a program for Linux; this machine runs %s", name, runtime.GOOS)
	}
	e, err := elf.NewFile(file)
	if err != nil {
		return problem("%s is damaged: %v", name, err)
	}
	want := machines[runtime.GOARCH]
	if e.Machine != want && !(runtime.GOARCH == "amd64" && e.Machine == elf.EM_386) {
		return problem("%s is made for %s; this machine is %s", name, architecture(e.Machine), runtime.GOARCH)
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return problem("%s is no program but an object file", name)
	}
	for _, p := range e.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
		if err != nil {
			return problem("%s is damaged: %v", name, err)
		}
		loader := string(bytes.TrimRight(text, "\x00"))
		if _, err := os.Stat(loader); err != nil {
			return problem("%s needs the loader %s, which is missing on this machine (is it made for another distribution or C library?)", name, loader)
		}
	}
	return nil
}

func architecture(m elf.Machine) string {
	for arch, machine := range machines {
		if machine == m {
			return arch
		}
	}
	return m.String()
}
