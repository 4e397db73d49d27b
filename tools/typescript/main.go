// Command typescript bundles the TypeScript client library, the page of the demo game and the
// console, with esbuild, without Node.js:
//
//	typescript [-top .]                         # writes the committed bundles
//	typescript [-top .] -bundle FILE -to FOLDER # bundles FILE, for tests
//
// The declarations of the library come from TypeScript's own compiler: npm run types.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	top := flag.String("top", ".", "top of the repository, a `folder`")
	source := flag.String("bundle", "", "a `file` to bundle, from top, instead of writing the committed bundles")
	to := flag.String("to", "", "the `folder` for the bundle")
	flag.Parse()
	if err := run(*top, *source, *to); err != nil {
		fmt.Fprintln(os.Stderr, "typescript:", err)
		os.Exit(1)
	}
}

func run(top, source, to string) error {
	if source != "" {
		name := filepath.Base(source)
		text, err := build(top, source, api.PlatformNode, false)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, strings.TrimSuffix(name, filepath.Ext(name))+".mjs"), text, 0o644)
	}
	files, err := bundles(top)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(top, name), text, 0o644); err != nil {
			return err
		}
	}
	old, err := outdated(top, files)
	for _, name := range old {
		err = errors.Join(err, os.Remove(filepath.Join(top, name)))
	}
	return err
}

// committed are the bundles in the repository.
var committed = []struct {
	file, source string
	platform     api.Platform
	minified     bool
}{
	{"clients/typescript/dist/muster.js", "clients/typescript/src/index.ts", api.PlatformBrowser, false},
	{"clients/typescript/dist/muster.min.js", "clients/typescript/src/index.ts", api.PlatformBrowser, true},
	{"clients/typescript/dist/node.js", "clients/typescript/src/node.ts", api.PlatformNode, false},
	{"examples/arena/page/page.js", "examples/arena/page/src/main.ts", api.PlatformBrowser, true},
}

// bundles returns the committed bundles as the sources give them, by file.
func bundles(top string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, f := range committed {
		text, err := build(top, f.source, f.platform, f.minified)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.file, err)
		}
		files[f.file] = text
	}
	pages, err := console(top)
	if err != nil {
		return nil, fmt.Errorf("the console: %w", err)
	}
	maps.Copy(files, pages)
	return files, nil
}

// build bundles a source file, whose name is relative to top, with what it imports.
func build(top, source string, platform api.Platform, minified bool) ([]byte, error) {
	result, err := bundle(top, api.BuildOptions{EntryPoints: []string{source}, Platform: platform}, minified)
	if err != nil {
		return nil, err
	}
	return result.OutputFiles[0].Contents, nil
}

// bundle runs esbuild in the folder top with options beside those that all bundles have.
func bundle(top string, options api.BuildOptions, minified bool) (*api.BuildResult, error) {
	folder, err := filepath.Abs(top)
	if err != nil {
		return nil, err
	}
	options.AbsWorkingDir, options.Bundle, options.Format = folder, true, api.FormatESModule
	options.Target, options.Charset, options.LegalComments = api.ES2022, api.CharsetUTF8, api.LegalCommentsNone
	options.JSX, options.JSXImportSource, options.NodePaths = api.JSXAutomatic, "preact", []string{filepath.Join(folder, "console/web/vendor")}
	options.MinifyWhitespace, options.MinifyIdentifiers, options.MinifySyntax = minified, minified, minified
	result := api.Build(options)
	var all error
	for _, m := range append(result.Errors, result.Warnings...) {
		at := ""
		if m.Location != nil {
			at = fmt.Sprintf("%s:%d: ", m.Location.File, m.Location.Line)
		}
		all = errors.Join(all, errors.New(at+m.Text))
	}
	return &result, all
}
