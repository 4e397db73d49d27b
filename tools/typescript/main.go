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
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	top := flag.String("top", ".", "top of the repository, a `folder`")
	bundle := flag.String("bundle", "", "a `file` to bundle, from top, instead of writing the committed bundles")
	to := flag.String("to", "", "the `folder` for the bundle")
	flag.Parse()
	if err := run(*top, *bundle, *to); err != nil {
		fmt.Fprintln(os.Stderr, "typescript:", err)
		os.Exit(1)
	}
}

func run(top, bundle, to string) error {
	if bundle != "" {
		name := filepath.Base(bundle)
		text, err := build(top, bundle, api.PlatformNode, false)
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
	return nil
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
	{"console/web/dist/assets/console.js", "console/web/src/main.tsx", api.PlatformBrowser, true},
	{"console/web/dist/assets/console.css", "console/web/src/style/console.css", api.PlatformBrowser, true},
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
	return files, nil
}

// build bundles a source file, whose name is relative to top, with what it imports.
func build(top, source string, platform api.Platform, minified bool) ([]byte, error) {
	folder, err := filepath.Abs(top)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: folder, EntryPoints: []string{source}, Bundle: true, Platform: platform, Format: api.FormatESModule,
		Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", NodePaths: []string{filepath.Join(folder, "console/web/vendor")},
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
