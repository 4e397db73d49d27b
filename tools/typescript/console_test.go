package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const consoleFolder = top + "/console/web"

// What the console may cost, in bytes gzipped: before the first page has its program, for the
// program of any other page with all that only some pages need, and as a whole.
const (
	mostFirstLoad = 32_000
	mostOfPage    = 32_000
	mostOfAll     = 118_000
)

var (
	loadedAtOnce = regexp.MustCompile(`(?:href|src)="/console/(assets/[^"]+)"`)
	imported     = regexp.MustCompile(`(?:from|import)"\./([^"]+)"`)
	onDemand     = regexp.MustCompile(`import\("\./([^"]+)"\)`)
)

// bundled are files of the console's program, by name.
type bundled struct {
	sizes map[string]int // gzipped
	texts map[string]string
}

// read reads a file of the program.
func (b *bundled) read(t *testing.T, name string) {
	t.Helper()
	for _, folder := range []string{"dist", "static"} {
		text, err := os.ReadFile(filepath.Join(consoleFolder, folder, name))
		if err != nil {
			continue
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(text)
		w.Close()
		b.sizes[name], b.texts[name] = packed.Len(), string(text)
	}
	if b.texts[name] == "" {
		t.Fatalf("there is no %s", name)
	}
}

// named returns the files that a pattern finds in a file that was read.
func (b *bundled) named(name string, pattern *regexp.Regexp) (found []string) {
	for _, m := range pattern.FindAllStringSubmatch(b.texts[name], -1) {
		found = append(found, "assets/"+strings.TrimPrefix(m[1], "assets/"))
	}
	return found
}

// needs reads a page's program and all that it imports, except the first load, and returns
// their names.
func (b *bundled) needs(t *testing.T, page string, first []string) []string {
	t.Helper()
	found := []string{page}
	for i := 0; i < len(found); i++ {
		b.read(t, found[i])
		for _, name := range b.named(found[i], imported) {
			if !slices.Contains(first, name) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found
}

// within logs the size of some files together, and fails the test if it is above most.
func (b *bundled) within(t *testing.T, what string, names []string, most int) {
	t.Helper()
	sum := 0
	for _, name := range names {
		sum += b.sizes[name]
	}
	t.Logf("%s: %d bytes gzipped", what, sum)
	if sum > most {
		t.Errorf("%s: %d bytes gzipped, more than %d", what, sum, most)
	}
}

func TestConsole_Size(t *testing.T) {
	t.Parallel()
	b := bundled{map[string]int{}, map[string]string{}}
	b.read(t, "index.html")
	first := append([]string{"index.html"}, b.named("index.html", loadedAtOnce)...)
	var pages []string
	for i, name := range first {
		if i > 0 {
			b.read(t, name)
		}
		for _, in := range b.named(name, imported) {
			if !slices.Contains(first, in) {
				t.Errorf("%s imports %s, which the page does not name", name, in)
			}
		}
		pages = append(pages, b.named(name, onDemand)...)
	}
	if len(pages) < 10 {
		t.Errorf("%d pages are loaded on demand", len(pages))
	}
	b.within(t, "the first load", first, mostFirstLoad)
	for _, page := range pages {
		b.within(t, page+" with what it shares", b.needs(t, page, first), mostOfPage)
	}
	b.within(t, "all", slices.Collect(maps.Keys(b.sizes)), mostOfAll)
}

// The sources have no errors in the eyes of TypeScript's own compiler.
func TestConsole_Types(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is missing; install npm to check the console's types")
	}
	copied := t.TempDir() // npm installs nothing in the repository
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json"} {
		text, err := os.ReadFile(filepath.Join(consoleFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(copied, "src"), os.DirFS(filepath.Join(consoleFolder, "src"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"}, {"run", "--silent", "check"}} {
		cmd := exec.CommandContext(t.Context(), "npm", args...)
		cmd.Dir = copied
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm %s: %v\n%s", strings.Join(args, " "), err, text)
		}
	}
}

// vendored are the files of others, which are as they were published.
const vendored = "vendor/SHA256SUMS"

func TestConsole_Vendored(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(consoleFolder, vendored))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	err = fs.WalkDir(os.DirFS(filepath.Join(consoleFolder, "vendor")), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == "SHA256SUMS" {
			return err
		}
		content, err := os.ReadFile(filepath.Join(consoleFolder, "vendor", name))
		sum := sha256.Sum256(content)
		if got := hex.EncodeToString(sum[:]); err == nil && got != want[name] {
			t.Errorf("vendor/%s has the sum %s, want %q", name, got, want[name])
		}
		delete(want, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("vendor/%s is missing", name)
	}
}

var (
	hex3      = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b`)
	tokenRule = regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6})`)
)

// Colors are named in one file, and what is said with them can be read: 4.5 to 1 for text on
// every surface, 3 to 1 for the borders of controls.
func TestConsole_Colors(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(os.DirFS(filepath.Join(consoleFolder, "src")), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "tokens.css") {
			return err
		}
		content, err := os.ReadFile(filepath.Join(consoleFolder, "src", name))
		if at := hex3.Find(content); at != nil {
			t.Errorf("src/%s names the color %s; tokens.css has all colors", name, at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(consoleFolder, "src/style/tokens.css"))
	if err != nil {
		t.Fatal(err)
	}
	themes := strings.Split(string(text), ":root")
	for _, c := range []struct {
		name, rules string
	}{{"light", themes[1]}, {"dark", themes[2]}, {"dark by choice", themes[3]}} {
		colors := map[string][3]float64{}
		for _, m := range tokenRule.FindAllStringSubmatch(c.rules, -1) {
			colors[m[1]] = parseColor(t, m[2])
		}
		for _, on := range []string{"panel", "page", "sunken"} {
			for name, least := range map[string]float64{"text": 4.5, "text2": 4.5, "text3": 4.5, "accent": 4.5, "control": 3, "ok": 4.5, "busy": 4.5, "hold": 4.5, "warn": 4.5, "fail": 4.5, "idle": 4.5} {
				if colors[name] == [3]float64{} || contrast(colors[name], colors[on]) < least {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", c.name, name, on, contrast(colors[name], colors[on]), least)
				}
			}
		}
		if got := contrast(colors["on-accent"], colors["accent"]); got < 4.5 {
			t.Errorf("%s: a first button's text has a contrast of %.2f", c.name, got)
		}
		for i, a := range []string{"ok", "busy", "hold", "warn", "fail", "idle"} {
			for _, b := range []string{"ok", "busy", "hold", "warn", "fail", "idle"}[:i] {
				if d := distance(colors[a], colors[b]); d < 8 {
					t.Errorf("%s: %s and %s are %.1f apart, want 8", c.name, a, b, d)
				}
			}
		}
	}
}

// parseColor returns a color's linear red, green and blue.
func parseColor(t *testing.T, text string) (c [3]float64) {
	t.Helper()
	n, err := strconv.ParseUint(text[1:], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c {
		v := float64(n>>(16-8*i)&255) / 255
		if c[i] = v / 12.92; v > .04045 {
			c[i] = math.Pow((v+.055)/1.055, 2.4)
		}
	}
	return c
}

// contrast returns the ratio of WCAG 2.1.
func contrast(a, b [3]float64) float64 {
	luminance := func(c [3]float64) float64 { return .2126*c[0] + .7152*c[1] + .0722*c[2] }
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

// distance returns the distance of two colors in OKLab, times 100.
func distance(a, b [3]float64) float64 {
	lab := func(c [3]float64) [3]float64 {
		l := math.Cbrt(.4122214708*c[0] + .5363325363*c[1] + .0514459929*c[2])
		m := math.Cbrt(.2119034982*c[0] + .6806995451*c[1] + .1073969566*c[2])
		s := math.Cbrt(.0883024619*c[0] + .2817188376*c[1] + .6299787005*c[2])
		return [3]float64{
			.2104542553*l + .7936177850*m - .0040720468*s,
			1.9779984951*l - 2.4285922050*m + .4505937099*s,
			.0259040371*l + .7827717662*m - .8086757660*s,
		}
	}
	x, y := lab(a), lab(b)
	return 100 * math.Sqrt((x[0]-y[0])*(x[0]-y[0])+(x[1]-y[1])*(x[1]-y[1])+(x[2]-y[2])*(x[2]-y[2]))
}
