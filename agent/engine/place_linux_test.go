package engine

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestParseProcess(t *testing.T) {
	t.Parallel()
	p, ok := parseProcess("71 (a ) b) S 1 70 69 34816 68 4194560 1 2")
	if want := (process{pid: 71, group: 70, session: 69, foreground: 68}); !ok || p != want {
		t.Errorf("%+v, %t, want %+v", p, ok, want)
	}
	if p, ok := parseProcess("71 (a) Z 1 71 71 0 -1 4194560"); !ok || !p.ended || p.foreground != -1 {
		t.Errorf("%+v, %t", p, ok)
	}
	for _, text := range []string{"", "71", "71 (a", "71 (a) S 1 2", "x (a) S 1 2 3 4 5", "1 (a) S 1 x 3 4 5", ") 1 ("} {
		if p, ok := parseProcess(text); ok {
			t.Errorf("%q is taken for %+v", text, p)
		}
	}
}

// Signals reach processes of the session and of the container's namespace alone.
func TestPlace_Signal(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	pid := cmd.Process.Pid
	here := place{namespaceOf(os.Getpid())}
	for what, n := range map[string]int{
		"another namespace": place{"pid:[1]"}.signal(pid, 0, 0), "no session": here.signal(0, 0, 0), "another group": here.signal(pid, pid+1, 0),
	} {
		if n != 0 {
			t.Errorf("%s: %d processes", what, n)
		}
	}
	if n := here.signal(pid, pid, 0); n != 1 {
		t.Errorf("%d processes of the session", n)
	}
	if _, err := placeOf(pid, "0123456789abcdef"); err == nil {
		t.Error("a process outside of containers is taken for a container's")
	}
}
