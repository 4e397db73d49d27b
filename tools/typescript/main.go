// Command typescript bundles the TypeScript client library with esbuild, without Node.js:
//
//	typescript [-library clients/typescript]             # writes its dist
//	typescript [-library FOLDER] -bundle FILE -to FOLDER # bundles FILE, for tests
//
// The declarations of dist/types come from TypeScript's own compiler: npm run types.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	library := flag.String("library", "clients/typescript", "the library's `folder`")
	bundle := flag.String("bundle", "", "a `file` of the library to bundle, instead of writing dist")
	to := flag.String("to", "", "the `folder` for the bundle")
	flag.Parse()
	if err := run(*library, *bundle, *to); err != nil {
		fmt.Fprintln(os.Stderr, "typescript:", err)
		os.Exit(1)
	}
}

func run(library, bundle, to string) error {
	if bundle == "" {
		files, err := dist(library)
		if err != nil {
			return err
		}
		return write(filepath.Join(library, "dist"), files)
	}
	platform := api.PlatformNode
	if filepath.Base(filepath.Dir(bundle)) == "browser" {
		platform = api.PlatformBrowser
	}
	name := filepath.Base(bundle)
	text, err := build(library, bundle, platform, false)
	if err != nil {
		return err
	}
	return write(to, map[string][]byte{name[:len(name)-len(filepath.Ext(name))] + ".mjs": text})
}

// dist returns the files of the library's dist, by name.
func dist(library string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, f := range []struct {
		name, source string
		platform     api.Platform
		minified     bool
	}{
		{"muster.js", "src/index.ts", api.PlatformBrowser, false},
		{"muster.min.js", "src/index.ts", api.PlatformBrowser, true},
		{"node.js", "src/node.ts", api.PlatformNode, false},
	} {
		text, err := build(library, f.source, f.platform, f.minified)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files[f.name] = text
	}
	return files, nil
}

// build bundles a source file, whose name is relative to the library, with what it imports.
func build(library, source string, platform api.Platform, minified bool) ([]byte, error) {
	folder, err := filepath.Abs(library)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: folder, EntryPoints: []string{source}, Bundle: true, Platform: platform, Format: api.FormatESModule,
		Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		MinifyWhitespace: minified, MinifyIdentifiers: minified, MinifySyntax: minified,
	})
	var all error
	for _, m := range append(result.Errors, result.Warnings...) {
		at := ""
		if m.Location != nil {
			at = fmt.Sprintf("%s:%d: ", m.Location.File, m.Location.Line)
		}
		all = errors.Join(all, errors.New(at+m.Text))
	}
	if all != nil {
		return nil, all
	}
	return result.OutputFiles[0].Contents, nil
}

func write(folder string, files map[string][]byte) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
