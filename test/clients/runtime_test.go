package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/test/chromium"
)

// runtimeRow is a runtime in which the stories are played. In its commands {source} stands
// for the library's folder, {out} for a folder for what is built, and an argument with a *
// for the files that match.
type runtimeRow struct {
	name   string
	source string // folder of the library, from the top of the repository
	needs  string // programs that have to be installed
	remedy string // what to install if one is missing
	build  []string
	run    []string
	page   string // instead of run: the script of the page, in source
}

// cpp is a program of the C++ library: its sources, built together with others, by which flags.
func cpp(flags string, sources ...string) runtimeRow {
	r := runtimeRow{name: "c++", source: "clients/cpp", needs: "g++", remedy: "install g++ and libcurl (Debian packages g++ and libcurl4-openssl-dev)"}
	r.build = append(strings.Fields("g++ -std=c++17 "+flags+" -I{source}/include -o {out}/program {source}/src/*.cpp"), sources...)
	r.build = append(r.build, "-lcurl", "-pthread")
	r.run = []string{"{out}/program"}
	return r
}

// csharp is a program of the C# library, as cpp is one of the C++ library's.
func csharp(flags string, sources ...string) runtimeRow {
	r := runtimeRow{name: "mono", source: "clients/csharp", needs: "mcs mono", remedy: "install Mono (Debian packages mono-mcs and mono-runtime)"}
	r.build = strings.Fields("mcs -langversion:7.2 " + flags + " -out:{out}/program.exe -r:System.Net.Http.dll {source}/Runtime/*.cs {source}/Runtime/Generated/*.cs")
	r.build = append(r.build, sources...)
	r.run = []string{"mono", "{out}/program.exe"}
	return r
}

// typescript and gdscript are scripts of these libraries.
func typescript(script string) runtimeRow {
	return runtimeRow{
		name: "node", source: "clients/typescript", needs: "node", remedy: "install Node.js 20 or later (Debian package nodejs)",
		run: []string{"node", "{source}/" + script},
	}
}

func gdscript(script string) runtimeRow {
	return runtimeRow{
		name: "godot", source: "clients/godot", needs: "godot3-server", remedy: "install Godot 3 (Debian package godot3-server)",
		run: []string{"godot3-server", "--path", "{source}", "--script", script},
	}
}

var runtimes = []runtimeRow{
	{
		name: "go", source: "test/clients/godriver", needs: "go", remedy: "install Go",
		build: []string{"go", "build", "-o", "{out}/driver", "./godriver"}, run: []string{"{out}/driver"},
	},
	typescript("driver/node.mjs"),
	{
		name: "chromium", source: "clients/typescript", needs: "chromium", remedy: "install Chromium (Debian package chromium)",
		page: "driver/browser.mjs",
	},
	csharp("", "{source}/driver/*.cs"),
	cpp("-fno-exceptions -fno-rtti", "{source}/driver/*.cpp"),
	gdscript("driver/driver.gd"),
}

const top = "../.."

// available skips the test if the runtime is not there.
func (r *runtimeRow) available(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(top, r.source)); errors.Is(err, os.ErrNotExist) {
		t.Skipf("this tree has no %s", r.source)
	}
	for program := range strings.FieldsSeq(r.needs) {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: %s to run the stories here", program, r.remedy)
		}
	}
}

// start builds the driver program, starts it, and waits for its greeting. It ends with the
// test.
func (r *runtimeRow) start(t *testing.T) *driver {
	t.Helper()
	if r.page != "" {
		return startPage(t, r, "127.0.0.1")
	}
	out := t.TempDir()
	r.compile(t, out)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	arrived := make(chan wire, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			arrived <- newLines(conn)
		}
	}()
	args := r.expand(t, r.run, out)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(programEnv(out), "MUSTER_DRIVER="+listener.Addr().String())
	return connected(t, cmd, arrived)
}

// programEnv returns the environment of a program that may keep files in a folder: Godot has one
// for each project, which is then not the user's.
func programEnv(folder string) []string { return append(os.Environ(), "XDG_DATA_HOME="+folder) }

// compile builds what the runtime needs built, in the folder out.
func (r *runtimeRow) compile(t *testing.T, out string) {
	t.Helper()
	if r.build == nil {
		return
	}
	if err := run(t, r.expand(t, r.build, out)); err != nil {
		t.Fatal(err)
	}
}

// run runs a compiler. The error has what it printed.
func run(t *testing.T, args []string) error {
	if text, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return nil
}

// output runs what the runtime has built in the folder out, with further arguments, and returns
// what it prints.
func (r *runtimeRow) output(t *testing.T, out string, more ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	args := append(r.expand(t, r.run, out), more...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = programEnv(out)
	return cmd.CombinedOutput()
}

// expand returns a command with the names of files.
func (r *runtimeRow) expand(t *testing.T, command []string, out string) []string {
	t.Helper()
	source, err := filepath.Abs(filepath.Join(top, r.source))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, arg := range command {
		arg = strings.NewReplacer("{source}", source, "{out}", out).Replace(arg)
		if !strings.Contains(arg, "*") {
			args = append(args, arg)
			continue
		}
		files, err := filepath.Glob(arg)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: there are no such files (%v)", arg, err)
		}
		args = append(args, files...)
	}
	return args
}

// patience is how long a step may take, and a driver to start, on a busy machine.
const patience = time.Minute

// connected starts a program and returns the driver that then connects.
func connected(t *testing.T, cmd *exec.Cmd, arrived <-chan wire) *driver {
	t.Helper()
	output := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to kill all its processes
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); cmd.Wait() }()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		if text := output.String(); t.Failed() && text != "" {
			t.Logf("the driver printed:\n%s", text)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case w := <-arrived:
		t.Cleanup(w.close)
		d, err := greet(w, output.String)
		if err != nil {
			t.Fatal(err)
		}
		return d
	case <-ended:
		t.Fatalf("%s ended before it connected\n%s", cmd, output)
	case <-ctx.Done():
		t.Fatalf("%s did not connect within %s\n%s", cmd, patience, output)
	}
	return nil
}

// syncBuffer is a buffer for the output of a program.
type syncBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer. What exceeds a limit is dropped.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all.Len() < 64<<10 {
		b.all.Write(p)
	}
	return len(p), nil
}

// String returns the output so far.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// foreign is a site whose pages the server does not know.
const foreign = "foreign.example"

// startPage opens a page of the library's folder in a browser, whose script connects to the
// page's own origin, /driver. host is the page's site.
func startPage(t *testing.T, r *runtimeRow, host string) *driver {
	t.Helper()
	arrived := make(chan wire, 1)
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	files := http.FileServer(http.Dir(filepath.Join(top, r.source)))
	mux := http.NewServeMux()
	mux.Handle("/", files)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><title>driver</title><script type=module src=\"/%s\"></script>", r.page)
	})
	mux.HandleFunc("GET /driver", func(w http.ResponseWriter, request *http.Request) {
		if ws, err := upgrader.Upgrade(w, request, nil); err == nil {
			arrived <- frames{ws}
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	cmd, _ := chromium.Command(t, "http://"+net.JoinHostPort(host, port)+"/", "--enable-logging=stderr", "--log-level=0", "--host-resolver-rules=MAP "+foreign+" 127.0.0.1")
	return connected(t, cmd, arrived)
}
