// Command openapi writes what game clients share with the player API, its types,
// operations and push messages, in the language of each client library, from the API's
// descriptions (OpenAPI and AsyncAPI).
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	dir := flag.String("descriptions", "backend", "folder of openapi.yaml and asyncapi.yaml")
	lang := flag.String("lang", "", "language to write; all of them, each to its file, if absent")
	out := flag.String("o", "", "file to write, with -lang; default: the committed one below -top")
	top := flag.String("top", ".", "top of the repository")
	flag.Parse()
	if err := run(*dir, *top, *lang, *out); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(dir, top, lang, out string) error {
	m, err := readFolder(dir)
	if err != nil {
		return err
	}
	if lang == "" {
		for _, e := range emitters {
			if err := e.write(m, filepath.Join(top, filepath.FromSlash(e.File))); err != nil {
				return err
			}
		}
		return nil
	}
	i := slices.IndexFunc(emitters, func(e emitter) bool { return e.Lang == lang })
	if i < 0 {
		return fmt.Errorf("there is no language %q", lang)
	}
	if out == "" {
		out = filepath.Join(top, filepath.FromSlash(emitters[i].File))
	}
	return emitters[i].write(m, out)
}

// readFolder reads the two descriptions of a folder.
func readFolder(dir string) (*model, error) {
	requests, err := os.ReadFile(filepath.Join(dir, "openapi.yaml"))
	if err != nil {
		return nil, err
	}
	push, err := os.ReadFile(filepath.Join(dir, "asyncapi.yaml"))
	if err != nil {
		return nil, err
	}
	return readModel(requests, push)
}

func (e *emitter) write(m *model, path string) error {
	source, err := e.Emit(m)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Lang, err)
	}
	return os.WriteFile(path, source, 0o644)
}
