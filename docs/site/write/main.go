// Command write writes the site of the project's documents to a folder, from which any web server
// can serve it, and a browser opens its pages.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/docs"
	"github.com/musterhq/muster/docs/site"
)

func main() {
	folder := flag.String("out", "bin/docs", "the folder")
	flag.Parse()
	if err := write(*folder); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
	fmt.Println(filepath.Join(*folder, "index.html"))
}

func write(folder string) error {
	s, err := site.New(docs.Files, "")
	if err != nil {
		return err
	}
	files, err := s.Files()
	if err != nil {
		return err
	}
	for name, text := range files {
		to := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
