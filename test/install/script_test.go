package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// archived returns an archive of programs, which print their name.
func archived(t *testing.T, programs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, name := range programs {
		text := "#!/bin/sh\necho " + name + " v9\n"
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// released serves a folder of a release that has one archive for this system.
func released(t *testing.T, archive []byte, sum string) string {
	t.Helper()
	name := fmt.Sprintf("muster_9.0.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /r/checksums.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%s  muster_9.0.0_plan9_386.tar.gz\n%s  %s\n%s  muster-kubernetes_9.0.0_%[4]s_%[5]s.tar.gz\n", strings.Repeat("0", 64), sum, name, runtime.GOOS, runtime.GOARCH)
	})
	mux.HandleFunc("GET /r/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/r"
}

// script runs install.sh and returns its output and whether it succeeded.
func script(t *testing.T, release, dir string) (string, bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy(t), "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh")
	cmd.Stdin = bytes.NewReader(text) // as after curl
	cmd.Env = append(os.Environ(), "MUSTER_RELEASE="+release, "MUSTER_INSTALL_DIR="+dir, "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestScript(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skipf("curl is missing (Debian package curl): %v", err)
	}
	archive := archived(t, "muster", "arena")
	sum := fmt.Sprintf("%x", sha256.Sum256(archive))
	dir := filepath.Join(t.TempDir(), "bin")
	for range 2 { // the second run replaces what the first installed
		out, ok := script(t, released(t, archive, sum), dir)
		if !ok || !strings.Contains(out, "muster v9") || !strings.Contains(out, dir) {
			t.Fatalf("it does not install:\n%s", out)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("the folder has %v, want the two programs (%v)", files, err)
	}
	none := filepath.Join(t.TempDir(), "none")
	for what, release := range map[string]string{
		"is not what the release lists": released(t, append(bytes.Clone(archive), 0), sum),
		"cannot be unpacked":            released(t, archived(t, "other"), fmt.Sprintf("%x", sha256.Sum256(archived(t, "other")))),
		"cannot be downloaded":          released(t, archive, sum) + "/gone",
	} {
		if out, ok := script(t, release, none); ok || !strings.Contains(out, what) {
			t.Errorf("want an error that has %q:\n%s", what, out)
		}
		if files, _ := os.ReadDir(none); len(files) > 0 {
			t.Errorf("%s: yet there is %v", what, files)
		}
	}
}

// The script installs from the folder of a release that was built here.
func TestScript_Release(t *testing.T) {
	release := dist(t)
	dir := filepath.Join(t.TempDir(), "bin")
	out, ok := script(t, "file://"+release, dir)
	if !ok || !strings.Contains(out, "muster v") || !strings.Contains(out, runtime.Version()) {
		t.Errorf("it does not install:\n%s", out)
	}
}

// Half of the script does nothing.
func TestScript_CutOff(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deploy(t), "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "bin")
	for _, part := range []int{len(text) / 4, len(text) / 2, len(text) - len("main\n")} {
		cmd := exec.Command("sh")
		cmd.Stdin = bytes.NewReader(text[:part])
		cmd.Env = append(os.Environ(), "MUSTER_RELEASE=http://127.0.0.1:1", "MUSTER_INSTALL_DIR="+dir)
		if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "cannot be downloaded") {
			t.Errorf("the first %d bytes install something:\n%s", part, out)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("the first %d bytes create %s", part, dir)
		}
	}
}
