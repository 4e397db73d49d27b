// Command openapi writes Go types for the schemas of an OpenAPI description, as far
// as this project's descriptions need: objects whose members are scalars, lists, maps
// or other objects.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	in := flag.String("in", "openapi.yaml", "description to read")
	out := flag.String("out", "types.go", "file to write")
	name := flag.String("package", "protocol", "name of the package")
	flag.Parse()
	if err := run(*in, *out, *name); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(in, out, name string) error {
	text, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	source, err := generate(text, name)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	return os.WriteFile(out, source, 0o644)
}
