package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/musterhq/muster/internal/yamlfile"
)

// givenFile decodes flags and arguments that name a file, as kong does. A flag that is empty,
// such as by a variable set to nothing, names none.
func givenFile(c *kong.DecodeContext, target reflect.Value) error {
	if c.Value.Flag != nil && c.Scan.Peek().Value == "" {
		c.Scan.Pop()
		target.SetString("")
		return nil
	}
	return kongsFile.Decode(c, target)
}

var kongsFile = kong.NewRegistry().RegisterDefaults().ForNamedType("existingfile", reflect.TypeFor[string]())

// readYAML reads the file that an option names: the zero value if it names none. It refuses
// unknown fields.
func readYAML[T any](option, file string) (v T, err error) {
	if file == "" {
		return v, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return v, fmt.Errorf("%s: %w", option, err)
	}
	if err := yamlfile.ReadTagged(file, text, &v); err != nil {
		return v, fmt.Errorf("%s: %w", option, err)
	}
	return v, nil
}

// writeFile writes a file that only its owner can read. An existing file is unchanged until
// everything is written; anything but a regular file is written to in place.
func writeFile(name string, write func(io.Writer) error) (err error) {
	if at, err := filepath.EvalSymlinks(name); err == nil {
		name = at
	}
	if there, err := os.Stat(name); err == nil && !there.Mode().IsRegular() {
		return writeInto(name, write)
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// writeInto writes to a pipe or a device.
func writeInto(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
