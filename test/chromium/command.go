package chromium

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Needs skips the test if Chromium is not installed; why says what cannot be tested then.
func Needs(t testing.TB, why string) {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skipf("chromium is missing (Debian package chromium), so %s", why)
	}
}

// Command returns a command, not started, that opens a page in Chromium without a window. It
// has a profile of its own in a folder that is removed after the test. Its processes are a
// group, which the caller has to kill: all but the first would go on. flags are more of
// Chromium's.
func Command(t testing.TB, page string, flags ...string) (cmd *exec.Cmd, profile string) {
	t.Helper()
	profile = t.TempDir()
	short, err := os.MkdirTemp("", "chromium") // a socket's path has at most 107 bytes, fewer than t.TempDir may take
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	cmd = exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
		"--user-data-dir="+profile, "--remote-debugging-port=0")
	cmd.Args = append(append(cmd.Args, flags...), page)
	cmd.Env = append(os.Environ(), "TMPDIR="+short) // where it creates its sockets
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, profile
}
