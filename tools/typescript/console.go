package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The console's folders and sources, from the top of the repository.
const (
	consoleDist   = "console/web/dist"
	consoleAssets = consoleDist + "/assets"
	consolePage   = "console/web/src/index.html"
	consoleMain   = "console/web/src/main.tsx"
	consoleStyle  = "console/web/src/style/console.css"
)

// built is what esbuild says of the files that it has made.
type built struct {
	Outputs map[string]struct {
		EntryPoint string
		Imports    []struct{ Path, Kind string }
	}
}

// console returns the files of the console's program: the page, what it loads at once, and
// chunks for the pages of the console, which are loaded on demand. The names of all but the
// page contain a hash, so that browsers can keep them.
func console(top string) (map[string][]byte, error) {
	result, err := bundle(top, api.BuildOptions{
		EntryPoints: []string{consoleMain, consoleStyle}, Platform: api.PlatformBrowser, Splitting: true, Metafile: true,
		Outdir: consoleAssets, EntryNames: "[name]-[hash]", ChunkNames: "[name]-[hash]",
	}, true)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(top)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		name, err := filepath.Rel(folder, f.Path)
		if err != nil {
			return nil, err
		}
		files[filepath.ToSlash(name)] = f.Contents
	}
	var made built
	if err := json.Unmarshal([]byte(result.Metafile), &made); err != nil {
		return nil, err
	}
	page, err := os.ReadFile(filepath.Join(top, consolePage))
	if err != nil {
		return nil, err
	}
	files[consoleDist+"/index.html"], err = made.link(string(page))
	return files, err
}

// link returns the console's page with the names of the files that it loads. What the program
// imports is named too, so that browsers need not read the program to ask for it.
func (b *built) link(page string) ([]byte, error) {
	var program, style string
	for name, out := range b.Outputs {
		switch out.EntryPoint {
		case consoleMain:
			program = name
		case consoleStyle:
			style = name
		}
	}
	var ahead strings.Builder
	for _, name := range b.imports(program) {
		fmt.Fprintf(&ahead, "<link rel=\"modulepreload\" href=%q>\n", served(name))
	}
	for was, is := range map[string]string{
		`href="style/console.css"`:              fmt.Sprintf("href=%q", served(style)),
		`<script type="module" src="main.tsx">`: fmt.Sprintf("%s<script type=\"module\" src=%q>", &ahead, served(program)),
	} {
		if strings.Count(page, was) != 1 {
			return nil, fmt.Errorf("%s must have %s once", consolePage, was)
		}
		page = strings.Replace(page, was, is, 1)
	}
	return []byte(page), nil
}

// imports returns the files that a file imports as it is loaded, and those that they import, by
// name.
func (b *built) imports(name string) []string {
	found := []string{name}
	for i := 0; i < len(found); i++ {
		for _, in := range b.Outputs[found[i]].Imports {
			if in.Kind == "import-statement" && !slices.Contains(found, in.Path) {
				found = append(found, in.Path)
			}
		}
	}
	slices.Sort(found[1:])
	return found[1:]
}

// served returns the path at which the server has a file.
func served(name string) string { return "/console/assets/" + path.Base(name) }

// outdated returns the files in the console's folder that are not built from the sources.
func outdated(top string, files map[string][]byte) (old []string, err error) {
	err = fs.WalkDir(os.DirFS(filepath.Join(top, consoleDist)), ".", func(name string, entry fs.DirEntry, err error) error {
		if name = path.Join(consoleDist, name); err == nil && !entry.IsDir() && files[name] == nil {
			old = append(old, name)
		}
		return err
	})
	return old, err
}
