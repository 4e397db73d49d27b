package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/hosts/shell"
)

// Supported reports whether this system runs remote shells.
const Supported = true

// session is a program that runs for a client.
type session struct {
	st   *shell.Stream
	opts Options
	cmd  *exec.Cmd

	terminal *os.File // nil: the streams are separate
	input    io.WriteCloser
	outputs  map[protocol.ShellOp]*lingering
	theirs   []*os.File // the program's ends, which are closed here once it has started
	exited   atomic.Bool
}

func serve(ctx context.Context, st *shell.Stream, cmd *exec.Cmd, terminal *protocol.ShellTerminal, o Options, control <-chan protocol.ShellFrame) protocol.ShellEnd {
	s := &session{st: st, opts: o, cmd: cmd, outputs: map[protocol.ShellOp]*lingering{}}
	defer s.close()
	open := s.openStreams
	if terminal != nil {
		open = func() error { return s.openTerminal(terminal) }
	}
	err := open()
	if err == nil {
		err = o.Start(cmd)
	}
	for _, file := range s.theirs {
		file.Close()
	}
	if err != nil {
		o.End()
		return Refused("the program could not be started: " + err.Error())
	}
	return s.run(ctx, control)
}

// openStreams connects the program by pipes.
func (s *session) openStreams() error {
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	s.cmd.Stdin, s.input, s.theirs = in, ours, append(s.theirs, in)
	for op, to := range map[protocol.ShellOp]*io.Writer{protocol.ShellOutput: &s.cmd.Stdout, protocol.ShellErrors: &s.cmd.Stderr} {
		ours, out, err := os.Pipe()
		if err != nil {
			return err
		}
		*to, s.theirs = out, append(s.theirs, out)
		s.outputs[op] = &lingering{File: ours, exited: &s.exited}
	}
	return nil
}

// openTerminal connects the program by a terminal, which becomes its controlling one. The
// terminal stays the agent's: game servers of the instance are of the program's user, and
// must not open it. The program has its ends open, and reaches it as /dev/tty.
func (s *session) openTerminal(t *protocol.ShellTerminal) error {
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ours, theirs, err := openTerminal()
	if err != nil {
		return err
	}
	s.terminal, s.theirs = ours, append(s.theirs, theirs)
	s.outputs[protocol.ShellOutput] = &lingering{File: ours, exited: &s.exited}
	s.resize(t.ShellSize)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = theirs, theirs, theirs
	if t.Type != "" {
		s.cmd.Env = append(s.cmd.Env, "TERM="+t.Type)
	}
	return nil
}

// openTerminal returns both ends of a new terminal. Reads of ours can have deadlines.
func openTerminal() (ours, theirs *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	ours = os.NewFile(uintptr(fd), "/dev/ptmx")
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0) // unlocks it
	}
	if err == nil {
		theirs, err = os.OpenFile("/dev/pts/"+strconv.FormatUint(uint64(number), 10), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

func (s *session) resize(to protocol.ShellSize) {
	s.onTerminal(func(fd int) { // at worst the screen looks wrong
		_ = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: to.Columns, Row: to.Rows})
	})
}

// onTerminal calls f with the descriptor of our end of the terminal.
func (s *session) onTerminal(f func(fd int)) {
	if raw, err := s.terminal.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // it fails if the terminal is closed
	}
}

// run passes data in both directions until the program ends, and ends what it leaves.
func (s *session) run(ctx context.Context, control <-chan protocol.ShellFrame) protocol.ShellEnd {
	defer context.AfterFunc(ctx, func() { // a client that does not read must not hold up the instance's end
		time.AfterFunc(leaving, s.st.Close)
	})()
	var copying sync.WaitGroup
	for op, from := range s.outputs {
		copying.Go(func() {
			if err := s.st.Copy(op, from); err != nil {
				io.Copy(io.Discard, from) // the client has gone; the program must not wait for it
			}
		})
	}
	go s.feed()
	ended := make(chan struct{})
	go func() {
		awaitExit(s.cmd.Process.Pid)
		close(ended)
	}()
	for {
		select {
		case f := <-control:
			s.control(f)
			continue
		case <-ctx.Done():
			s.kill()
			<-ended
		case <-ended:
			s.kill() // what it has left behind
		}
		break
	}
	_ = s.cmd.Wait() // ProcessState says how it ended
	s.exited.Store(true)
	for _, from := range s.outputs {
		from.wake()
	}
	copying.Wait()
	return endOf(s.cmd.ProcessState)
}

// awaitExit waits until a child has exited, and leaves it to be reaped: until then no other
// process gets its id, nor a group or session that id, so signals reach nothing else.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// kill ends the program and everything that it has started. The program must not have been
// reaped.
func (s *session) kill() {
	_ = unix.Kill(-s.cmd.Process.Pid, unix.SIGKILL) // its session, as far as there is no group
	s.opts.End()
}

// feed passes the client's input to the program until there is no more. Input that the
// program does not take is dropped.
func (s *session) feed() {
	for {
		f, ok := s.st.Next()
		if !ok {
			return
		}
		switch {
		case f.Op == protocol.ShellInput && s.terminal != nil:
			_, _ = s.terminal.Write(f.Payload)
			s.st.Used(f)
		case f.Op == protocol.ShellInput:
			_, _ = s.input.Write(f.Payload)
			s.st.Used(f)
		case f.Op == protocol.ShellEOF && s.terminal != nil:
			_, _ = s.terminal.Write([]byte{endOfFile})
		case f.Op == protocol.ShellEOF:
			s.input.Close()
		}
	}
}

// signals are those that a client may send.
var signals = map[string]syscall.Signal{
	"HUP": unix.SIGHUP, "INT": unix.SIGINT, "QUIT": unix.SIGQUIT, "TERM": unix.SIGTERM, "KILL": unix.SIGKILL, "USR1": unix.SIGUSR1, "USR2": unix.SIGUSR2,
}

// control carries out a frame that overtakes the data.
func (s *session) control(f protocol.ShellFrame) {
	switch f.Op {
	case protocol.ShellResize:
		if s.terminal != nil {
			s.resize(f.Size())
		}
	case protocol.ShellSignal:
		if sig, ok := signals[string(f.Payload)]; ok {
			s.signal(sig)
		}
	}
}

// signal sends a signal to the program's group: on a terminal, to the one in the foreground.
// The program must not have been reaped.
func (s *session) signal(sig syscall.Signal) {
	group := s.cmd.Process.Pid
	if s.terminal != nil {
		sent := false
		s.onTerminal(func(fd int) {
			sent = unix.IoctlSetInt(fd, unix.TIOCSIG, int(sig)) == nil // the system does it for some signals
			if front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && s.isOurs(front) {
				group = front
			}
		})
		if sent {
			return
		}
	}
	_ = unix.Kill(-group, sig) // it may have ended
}

// isOurs reports whether a group of processes is in the program's session. A terminal goes
// on naming the last group in its foreground when that has ended, and another group may have
// got its id.
func (s *session) isOurs(group int) bool {
	if group <= 1 {
		return false
	}
	session, err := unix.Getsid(group)
	return err == nil && session == s.cmd.Process.Pid
}

func (s *session) close() {
	if s.input != nil {
		s.input.Close()
	}
	for _, from := range s.outputs {
		from.Close()
	}
}

// endOf returns how a program ended, as shells show it.
func endOf(state *os.ProcessState) protocol.ShellEnd {
	if state == nil {
		return Refused("the program's end is not known")
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return protocol.ShellEnd{Code: 128 + int(status.Signal()), Signal: unix.SignalName(status.Signal())}
	}
	return protocol.ShellEnd{Code: state.ExitCode()}
}

// lingering is output that ends soon after the program has exited, even if a process that
// got away holds it open.
type lingering struct {
	*os.File
	exited *atomic.Bool
}

// linger is how long such a process is awaited.
const linger = 200 * time.Millisecond

// Read reads output. Its end is io.EOF, also for a terminal.
func (l *lingering) Read(p []byte) (int, error) {
	for {
		over := l.exited.Load()
		if over {
			l.SetReadDeadline(time.Now().Add(linger))
		}
		n, err := l.File.Read(p)
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded) && !over:
			continue // it has exited in the meantime
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, unix.EIO): // no process has the terminal any more
			return 0, io.EOF
		}
		return 0, err
	}
}

// wake makes a Read notice that the program has exited.
func (l *lingering) wake() { l.SetReadDeadline(time.Now()) }
