package install

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// dist returns the folder of a release, or skips the test.
func dist(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MUSTER_DIST")
	if dir == "" {
		t.Skip("MUSTER_DIST does not name the folder of a release: make snapshot runs this")
	}
	return dir
}

// A release has an archive for each system and processor, with both programs; the programs for
// this system say what they are, those for arm64 in QEMU.
func TestArchives(t *testing.T) {
	dir := dist(t)
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, processor := range []string{"amd64", "arm64"} {
			t.Run(system+"_"+processor, func(t *testing.T) {
				ending, exe := ".tar.gz", ""
				list, unpack := []string{"tar", "-tzf"}, []string{"tar", "-xzf"}
				if system == "windows" {
					ending, exe = ".zip", ".exe"
					list, unpack = []string{"python3", "-m", "zipfile", "-l"}, nil
				}
				file := only(t, filepath.Join(dir, "muster_*_"+system+"_"+processor+ending))
				out, err := exec.Command(list[0], append(list[1:], file)...).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", file, err, out)
				}
				for _, name := range []string{"muster" + exe, "arena" + exe, "LICENSE", "NOTICE", "README.md"} {
					if !slices.Contains(strings.Fields(string(out)), name) {
						t.Errorf("%s has no %s:\n%s", file, name, out)
					}
				}
				if system != runtime.GOOS || unpack == nil {
					return // test/foreign runs those for Windows
				}
				to := t.TempDir()
				if out, err := exec.Command(unpack[0], append(unpack[1:], file, "-C", to)...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", file, err, out)
				}
				command := []string{filepath.Join(to, "muster"), "--version"}
				if processor != runtime.GOARCH {
					if processor != "arm64" {
						return
					}
					if _, err := exec.LookPath("qemu-aarch64-static"); err != nil {
						t.Skipf("qemu-aarch64-static is missing (Debian package qemu-user-static): %v", err)
					}
					command = append([]string{"qemu-aarch64-static"}, command...)
				}
				out, err = exec.Command(command[0], command[1:]...).CombinedOutput()
				if err != nil || !strings.HasPrefix(string(out), "muster v") || !strings.Contains(string(out), system+"/"+processor) {
					t.Errorf("%s says that it is %q, %v", file, out, err)
				}
			})
		}
	}
}

// Each file that a release lists is there with its checksum, and each list of parts is of
// CycloneDX and names parts.
func TestArchives_Sums(t *testing.T) {
	dir := dist(t)
	text, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lists := 0
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			t.Errorf("%s has the checksum %s, want %s", name, got, sum)
		}
		if !strings.HasSuffix(name, ".cdx.json") {
			continue
		}
		lists++
		var parts struct {
			BOMFormat  string
			Components []any
		}
		if err := json.Unmarshal(content, &parts); err != nil || parts.BOMFormat != "CycloneDX" || len(parts.Components) == 0 {
			t.Errorf("%s is %q with %d components, %v", name, parts.BOMFormat, len(parts.Components), err)
		}
	}
	if lists != 14 {
		t.Errorf("%d programs have a list of their parts, want 14", lists)
	}
}

// only returns the one file that a pattern matches.
func only(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		t.Fatalf("%s matches %q, %v; want one file", pattern, files, err)
	}
	return files[0]
}
