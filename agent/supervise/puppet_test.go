package supervise_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/musterhq/muster/agent/supervise"
)

// The test binary is also the program that the tests run. The environment says which
// role it plays.
const (
	modeVariable   = "SUPERVISE_TEST_MODE"
	reportVariable = "SUPERVISE_TEST_REPORT" // address of the stage
	dirVariable    = "SUPERVISE_TEST_DIR"    // of the supervisor's state and logs
)

func TestMain(m *testing.M) {
	switch os.Getenv(modeVariable) {
	case "puppet":
		puppetMain()
	case "crash":
		fmt.Fprintln(os.Stderr, "no map found")
		os.Exit(3)
	case "supervisor":
		supervisorMain()
	case "reaper":
		reaperMain()
	}
	code := m.Run()
	if leaked := workers(); code == 0 && leaked != "" {
		fmt.Fprintf(os.Stderr, "a supervisor still works after all tests:\n%s\n", leaked)
		code = 1
	}
	os.Exit(code)
}

// workers returns the stacks of goroutines that still run methods of a supervisor. Those
// that are about to end get a minute to do so.
func workers() string {
	buffer := make([]byte, 1<<20)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		stacks := string(buffer[:runtime.Stack(buffer, true)])
		if !strings.Contains(stacks, "supervise.(*Supervisor)") {
			return ""
		}
	}
	return string(buffer[:runtime.Stack(buffer, true)])
}

// puppetMain carries out the stage's commands, one per line, and answers "ok".
func puppetMain() {
	conn, err := net.Dial("tcp", os.Getenv(reportVariable))
	if err != nil {
		os.Exit(90)
	}
	fmt.Fprintf(conn, "%s %d\n", os.Getenv("MUSTER_RUN_ID"), os.Getpid())
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "exit":
			code, _ := strconv.Atoi(arg)
			os.Exit(code)
		case "ignore":
			signal.Ignore(syscall.SIGTERM)
		case "stdout":
			fmt.Println(arg)
		case "stderr":
			fmt.Fprintln(os.Stderr, arg)
		case "fork":
			if exec.Command(os.Args[0]).Start() != nil {
				os.Exit(91)
			}
		case "args":
			fmt.Fprintln(conn, strings.Join(os.Args[1:], " "))
			continue
		case "env":
			fmt.Fprintln(conn, strings.Join(os.Environ(), " "))
			continue
		}
		fmt.Fprintln(conn, "ok")
	}
	select {} // the stage is gone; wait to be stopped
}

// stage is where puppets report.
type stage struct {
	t        *testing.T
	listener net.Listener
	arrivals chan *puppet
}

// puppet is a process of a run that the test controls.
type puppet struct {
	t     *testing.T
	id    string
	pid   int
	conn  net.Conn
	lines *bufio.Scanner
}

func newStage(t *testing.T) *stage {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, listener: listener, arrivals: make(chan *puppet, 64)}
	t.Cleanup(func() { listener.Close() })
	go s.welcome()
	return s
}

func (s *stage) welcome() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		p := &puppet{t: s.t, conn: conn, lines: bufio.NewScanner(conn)}
		if p.lines.Scan() {
			if _, err := fmt.Sscan(p.lines.Text(), &p.id, &p.pid); err == nil {
				s.arrivals <- p
			}
		}
	}
}

func (s *stage) next() *puppet {
	s.t.Helper()
	select {
	case p := <-s.arrivals:
		return p
	case <-s.t.Context().Done():
		s.t.Fatal("no puppet arrived")
		return nil
	}
}

// ask returns the puppet's answer to a line.
func (p *puppet) ask(line string) string {
	p.t.Helper()
	fmt.Fprintln(p.conn, line)
	if !p.lines.Scan() {
		p.t.Fatalf("puppet %s is gone instead of answering %q", p.id, line)
	}
	return p.lines.Text()
}

// exit makes the puppet exit.
func (p *puppet) exit(code int) { fmt.Fprintf(p.conn, "exit %d\n", code) }

// gone returns when the process has ended.
func (p *puppet) gone() {
	for p.lines.Scan() {
	}
}

// troupe is a supervisor of puppets, one after the other, and its events.
type troupe struct {
	*supervise.Supervisor
	started  chan supervise.Run
	exited   chan ended
	failed   chan error
	crashing chan int
}

type ended struct {
	supervise.Run
	supervise.Exit
}

func options(dir, report, mode string) supervise.Options {
	return supervise.Options{
		NewID: uuid.NewString,
		Spec: supervise.Spec{
			Name: "puppets", Path: must(os.Executable()), Dir: dir,
			LogDir: filepath.Join(dir, "logs"), StateDir: filepath.Join(dir, "state"),
			Launch: func(cmd *exec.Cmd, _ string) error {
				cmd.Env = append(cmd.Env, modeVariable+"="+mode, reportVariable+"="+report,
					"GOCOVERDIR="+dir) // otherwise it complains on stderr when coverage is measured
				return cmd.Start()
			},
		},
		Restart: supervise.Restart{Base: 1, Max: 1},
		Log:     slog.New(slog.DiscardHandler),
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newTroupe(t *testing.T, opts supervise.Options) *troupe {
	t.Helper()
	tr := &troupe{started: make(chan supervise.Run, 64), exited: make(chan ended, 64),
		failed: make(chan error, 64), crashing: make(chan int, 64)}
	opts.Events = supervise.Events{
		Started:      func(r supervise.Run) { tr.started <- r },
		Exited:       func(r supervise.Run, e supervise.Exit) { tr.exited <- ended{r, e} },
		Failed:       func(_ string, err error) { tr.failed <- err },
		CrashLooping: func(crashes int) { tr.crashing <- crashes },
	}
	var err error
	if tr.Supervisor, err = supervise.New(opts); err != nil {
		t.Fatal(err)
	}
	return tr
}

// perform starts a supervisor whose puppets report to a stage.
func perform(t *testing.T, change func(*supervise.Options)) (*stage, *troupe) {
	t.Helper()
	s := newStage(t)
	opts := options(t.TempDir(), s.listener.Addr().String(), "puppet")
	if change != nil {
		change(&opts)
	}
	return s, newTroupe(t, opts).start(t)
}

// start starts the supervisor and stops it, with its run, when the test ends.
func (tr *troupe) start(t *testing.T) *troupe {
	t.Helper()
	if err := tr.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Stop(context.Background(), 0); err != nil {
			t.Error(err)
		}
	})
	return tr
}
