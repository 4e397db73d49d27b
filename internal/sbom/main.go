// Command sbom writes the bill of materials of a Go program as CycloneDX 1.6 JSON:
// every module linked into it, according to the program's build information, with
// version and checksum.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// document is the part of the format (ECMA-424) that is needed.
type document struct {
	Format      string       `json:"bomFormat"`
	SpecVersion string       `json:"specVersion"`
	Version     int          `json:"version"`
	Metadata    metadata     `json:"metadata"`
	Components  []component  `json:"components"`
	Depends     []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// write writes the bill of materials of a program.
func write(out io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read what was linked: %w", err)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(billOf(info))
}

// billOf lists the modules of a program, with Go's standard library as one of them. All
// are listed as dependencies of the program: its build information does not say which
// module depends on which.
func billOf(info *debug.BuildInfo) document {
	d := document{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{of("application", &info.Main)}}
	modules := []*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if r := m.Replace; r != nil && !strings.HasPrefix(r.Path, ".") { // a local folder has no module path
			m = r
		}
		modules = append(modules, m)
	}
	all := dependency{Ref: d.Metadata.Component.Ref}
	for _, m := range modules {
		c := of("library", m)
		d.Components = append(d.Components, c)
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	d.Depends = []dependency{all}
	return d
}

func of(kind string, m *debug.Module) component {
	purl := "pkg:golang/" + m.Path
	if m.Version != "" {
		purl += "@" + url.PathEscape(m.Version)
	}
	c := component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}} // of the module's files, as in go.sum
	}
	return c
}
