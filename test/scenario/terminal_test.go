package scenario

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/wait"
)

// screen is a person's terminal in which a program runs.
type screen struct {
	t      *testing.T
	keys   *os.File
	before unix.Termios
	cmd    *exec.Cmd
	theirs *os.File

	mu    sync.Mutex
	shown strings.Builder
	more  chan struct{} // closed and replaced with each output
}

// onScreen starts a program in a terminal with a size.
func onScreen(t *testing.T, cmd *exec.Cmd, columns, rows uint16) *screen {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, keys: os.NewFile(uintptr(fd), "/dev/ptmx"), cmd: cmd, more: make(chan struct{})}
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if s.theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	s.resize(columns, rows)
	s.before = s.mode()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.theirs, s.theirs, s.theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // it has ended in a test that passes
		s.theirs.Close()
		s.keys.Close()
	})
	go s.watch()
	return s
}

func (s *screen) watch() {
	buffer := make([]byte, 4096)
	for {
		n, err := s.keys.Read(buffer)
		s.mu.Lock()
		s.shown.Write(buffer[:n])
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// resize changes the size, as a person who drags the window does.
func (s *screen) resize(columns, rows uint16) {
	s.t.Helper()
	raw, err := s.keys.SyscallConn()
	if err != nil {
		s.t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// mode returns how the terminal treats keys.
func (s *screen) mode() unix.Termios {
	s.t.Helper()
	mode, err := unix.IoctlGetTermios(int(s.theirs.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *mode
}

func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until a text is on the screen, and forgets everything up to it.
func (s *screen) shows(want string) {
	s.t.Helper()
	patience := time.After(late)
	for {
		s.mu.Lock()
		text, more := s.shown.String(), s.more
		if _, after, ok := strings.Cut(text, want); ok {
			s.shown.Reset()
			s.shown.WriteString(after)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		select {
		case <-more:
		case <-patience:
			s.t.Fatalf("the screen shows %q, want %q", text, want)
		}
	}
}

// ends waits for the end of the program, after which the terminal is as it was.
func (s *screen) ends(code int) {
	s.t.Helper()
	s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("it ended with %d, want %d", got, code)
	}
	if s.mode() != s.before {
		s.t.Error("the terminal treats keys in another way than before")
	}
}

// A shell on a terminal has its size, its keys and its signals, and leaves the person's
// terminal as it was.
func TestShell_OnTerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t, newLab(t), "--remote-access")
	m := s.lab.reachable()
	s.run(m, append(shellFlags, small...)...)
	fleet := s.fleet(s.build(arena(t)), server, 1)
	one := s.instance(m, 1, 0)
	admin := s.console.Credentials

	at := onScreen(t, s.command(admin, "shell", fleet, one), 100, 30)
	at.types("echo begin-$TERM; stty size; tty\r")
	at.shows("begin-xterm-256color\r\n30 100\r\n/dev/pts/")
	at.resize(90, 20)
	at.types("while [ \"$(stty size)\" != '20 90' ]; do sleep 0.01; done; echo re\"\"sized\r")
	at.shows("resized")
	at.types("sh -c 'echo star\"\"ted; exec sleep 1000'\r")
	at.shows("started")
	at.types("\x03")
	at.types("echo after=$?\r")
	at.shows("after=130")
	at.types("sh -c 'echo lis\"\"tens; exec cat > /dev/tty'\r")
	at.shows("listens")
	at.types("through the terminal\r")
	at.shows("through the terminal\r\nthrough the terminal")
	at.types("\x04exit 5\r")
	at.ends(5)

	at = onScreen(t, s.command(admin, "shell", fleet, one, "-t", "--", "printf", `\033[?1049h\033[?1000h\033[cwritten`), 80, 24)
	at.shows("\x1b[cwritten")
	at.shows("\x1b[?1000l\x1b[?1049l") // what it left
	at.shows("\x1b[5n")
	at.types("\x1b[?64;1c\x1b[0n") // the terminal's answers
	at.ends(0)
	if left, err := unix.IoctlGetInt(int(at.theirs.Fd()), unix.TIOCINQ); left != 0 || err != nil {
		t.Errorf("%d keys of the terminal's answers are left, %v", left, err)
	}

	at = onScreen(t, s.command(admin, "shell", fleet, one, "-t", "--", "sh", "-c", "trap '' INT HUP; echo stub\"\"born; while :; do sleep 1; done"), 80, 24)
	at.shows("stubborn")
	at.types("\x03\r~~a\r~.")
	at.shows("~. has ended the connection")
	at.ends(255)
	wait.Until(t, "the program is ended with the connection", func() bool {
		left, _ := exec.Command("pgrep", "-f", "trap .. INT HUP; echo stub").Output()
		return len(left) == 0
	})
}
