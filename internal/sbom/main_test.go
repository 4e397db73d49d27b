package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrite compares the bill of a program with what the go command reports as linked into
// it. It is the demo game, since the server takes far longer to build.
func TestWrite(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "arena")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/musterhq/muster/examples/arena").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var text bytes.Buffer
	if err := write(&text, program); err != nil {
		t.Fatal(err)
	}
	var d document
	decoder := json.NewDecoder(&text)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Format != "CycloneDX" || d.SpecVersion != "1.6" || d.Metadata.Component.Name != "github.com/musterhq/muster/examples/arena" {
		t.Errorf("the head is %+v", d)
	}
	said, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, c := range d.Components {
		versions[c.Name] = c.Version
		if c.Ref == "" || c.PURL == "" || c.Name != "std" && !strings.HasPrefix(c.Name, "github.com/musterhq/") && len(c.Hashes) != 1 {
			t.Errorf("the component %+v is not whole", c)
		}
	}
	modules, linked := 0, map[string]string{}
	last := ""
	for line := range strings.Lines(string(said)) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 3 && f[0] == "dep":
			modules++
			last = f[1]
			linked[last] = f[2]
		case len(f) >= 3 && f[0] == "=>" && f[1] == last: // another version of it, by go.work
			linked[last] = f[2]
		}
	}
	for name, version := range linked {
		if versions[name] != version {
			t.Errorf("%s %s is linked, the bill says %q", name, version, versions[name])
		}
	}
	if modules < 5 || len(d.Components) != modules+1 || len(d.Depends) != 1 || len(d.Depends[0].DependsOn) != modules+1 {
		t.Errorf("%d modules are linked, the bill has %d components", modules, len(d.Components))
	}
}

func TestWrite_NoProgram(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(&bytes.Buffer{}, file); err == nil {
		t.Error("a text has a bill of materials")
	}
}
