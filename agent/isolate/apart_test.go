//go:build linux

package isolate

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/wait"
)

// apart returns a jail in which a process sees only what it starts.
func apart() Jail { return Jail{User: stranger, Apart: true, Filter: true} }

func TestJail_Apart(t *testing.T) {
	out, err := jailed(t, apart(), `cd /proc && for n in [0-9]*; do tr '\0' ' ' < $n/cmdline; echo; done; sleep 0 & wait; echo parent $PPID; cat /proc/1/environ 2>/dev/null || echo closed`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(out, "\n")
	if len(lines) < 4 || !strings.HasPrefix(lines[0], "muster-first") || !strings.HasPrefix(lines[1], "/bin/sh -c") {
		t.Errorf("it sees more or less than the first process and itself:\n%s", out)
	}
	for _, line := range lines[2 : len(lines)-2] {
		if line != "" && !strings.HasPrefix(line, "tr ") && !strings.HasPrefix(line, "/bin/sh") {
			t.Errorf("it sees %q", line)
		}
	}
	if tail := lines[len(lines)-2:]; !slices.Equal(tail, []string{"parent 0", "closed"}) {
		t.Errorf("at the end it says %q", tail)
	}
}

// If the first process of a namespace cannot start, the error names the cause, although
// the command has no stderr to which it could be written.
func TestJail_ApartFails(t *testing.T) {
	able(t, apart())
	missing := filepath.Join(t.TempDir(), "missing", "cgroup.procs")
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := order{Jail: Jail{Apart: true, User: stranger}, Join: []string{missing}}.launch(cmd, self(t))
	if err == nil {
		_ = cmd.Wait()
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), missing) {
		t.Errorf("the error is %q, which does not name %s", err, missing)
	}
}

// The exit status of a process, and the effect of signals on it, are the same with
// Apart.
func TestJail_ApartEnds(t *testing.T) {
	for _, c := range []struct {
		name, script string
		signal       syscall.Signal
		want         string
	}{
		{"code", "exit 7", 0, "exit status 7"},
		{"high code", "exit 143", 0, "exit status 143"},
		{"by itself", "kill -SEGV $$", 0, "signal: segmentation fault"},
		{"asked, no handler", "echo ready; sleep 1000", unix.SIGTERM, "signal: terminated"},
		{"asked, handler", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done", unix.SIGTERM, "exit status 5"},
		{"asked, ignored", "trap '' TERM; echo ready; while :; do sleep 0.01; done", unix.SIGKILL, "signal: killed"},
		{"dump", "echo ready; exec sleep 1000", unix.SIGQUIT, "signal: quit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, lines := started(t, apart(), "ulimit -c 0; "+c.script)
			if c.signal != 0 {
				lines.Scan()
				if err := unix.Kill(-cmd.Process.Pid, c.signal); err != nil {
					t.Error(err)
				}
			}
			err := cmd.Wait()
			if fmt.Sprint(err) != c.want {
				t.Errorf("it ended with %v, want %s", err, c.want)
			}
		})
	}
}

// started starts a script in a jail, in its own process group, and returns its output
// line by line.
func started(t *testing.T, j Jail, script string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	able(t, j)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = in, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := j.Start(cmd, self(t)); err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		out.Close()
	})
	return cmd, bufio.NewScanner(out)
}

// When a process with Apart ends, everything it has started ends too, even what has
// left its session and parent, and so does the first process of the namespace.
func TestJail_ApartEndsWhole(t *testing.T) {
	const user = stranger + 1
	j := apart()
	j.User = user
	cmd, lines := started(t, j, "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM HUP; sleep 1000' & setsid setsid sleep 1000 & echo ready; wait")
	lines.Scan()
	wait.For(t, "the first process, the script and what it started run", func() error {
		if run := ProcessesOf(user); len(run) < 4 {
			return fmt.Errorf("processes %v run", run)
		}
		return nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for lines.Scan() { // the output ends with its last holder
	}
	wait.For(t, "no process is left", func() error {
		if left := ProcessesOf(user); len(left) > 0 {
			return fmt.Errorf("processes %v are left", left)
		}
		return nil
	})
}

// A jail hides folders and keeps the listed parts of them, whatever permissions the
// folders above have.
func TestJail_Hide(t *testing.T) {
	home := open(t)
	ours, theirs := filepath.Join(home, "secret", "ours"), filepath.Join(home, "secret", "theirs")
	for _, dir := range []string{ours, theirs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(theirs, "file"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(home, "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	j := apart()
	j.Hide, j.Keep = []string{home, "/root", "/no/such"}, []string{theirs, filepath.Join(home, "none")}
	out, err := jailed(t, j, `cd `+theirs+`; cat file; echo; ls .. ../..; ls /root | wc -l; touch ../new 2>/dev/null || echo read-only`)
	want := "content\n..:\ntheirs\n\n../..:\nsecret\n0\nread-only"
	if err != nil || out != want {
		t.Errorf("it says %v, %q, want %q", err, out, want)
	}
	left, err := os.ReadDir(filepath.Join(home, "secret"))
	if err != nil || len(left) != 2 {
		t.Errorf("outside it is %v, %v", left, err)
	}
}

// Programs of common kinds run with all restrictions of a jail: their threads,
// compilers and sockets. Their folders are kept, in case they are installed in a home
// directory.
func TestPrograms(t *testing.T) {
	dir := open(t)
	hello := filepath.Join(dir, "Hello.java")
	if err := os.WriteFile(hello, []byte(`public class Hello { public static void main(String[] a) throws Exception {
		Thread t = new Thread(() -> System.out.print("hel")); t.start(); t.join();
		new java.net.DatagramSocket(0).close(); new java.net.ServerSocket(0).close(); System.out.println("lo"); } }`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, where string // a command that prints the folder in which the program and its files are
		args        []string
	}{
		{"python3", `python3 -c 'import sys; print(sys.base_prefix)'`, []string{"-c", `
import threading, socket, subprocess, multiprocessing
server = socket.create_server(('', 0)); lock = multiprocessing.Lock()
t = threading.Thread(target=lambda: print('hel', end='', flush=True)); t.start(); t.join()
print(subprocess.run(['echo', 'lo'], capture_output=True, text=True).stdout)`}},
		{"node", "", []string{"-e", `
require('fs').promises.readdir('/').then(() => require('net').createServer().listen(0, function() {
	this.close(); new (require('worker_threads').Worker)('console.log("hello")', {eval: true}) }))`}},
		{"java", "", []string{"-XX:+UseG1GC", "-Xmx128m", hello}},
		{"bash", "", []string{"-c", "set -m; cat <(echo hello) & wait"}},
		{"perl", "", []string{"-e", "print qx(echo hello)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, err := exec.LookPath(c.name)
			if err != nil {
				t.Skipf("%s is not installed", c.name)
			}
			j := apart()
			j.Mounts, j.Keep = []Mount{{At: "/tmp"}, {At: "/dev/shm"}}, []string{dir}
			if c.where != "" {
				where, err := exec.Command("/bin/sh", "-c", c.where).Output()
				if err != nil {
					t.Skipf("%s does not run here: %v", c.name, err)
				}
				path = filepath.Join(strings.TrimSpace(string(where)), "bin", c.name)
				if home := "/" + strings.SplitN(path, "/", 3)[1]; home != "/usr" {
					j.Hide, j.Keep = []string{home}, append(j.Keep, filepath.Dir(filepath.Dir(path)))
				}
			}
			able(t, j)
			cmd := exec.Command(path, c.args...)
			cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp"}
			out, err := output(t, j, cmd)
			if err != nil || !strings.Contains(out, "hello") {
				t.Errorf("it ended with %v and said %q", err, out)
			}
		})
	}
}
