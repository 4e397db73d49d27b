package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// errNoProgram says how to get the arena program.
var errNoProgram = errors.New("the demo game is not beside this program: make build puts it there, and a flag names another place (--demo-server, or --game of muster bots)")

// FindProgram returns the path of the arena program: the named one, or the one next to
// our own program. Its errors are sentences for people.
func FindProgram(named string) (string, error) {
	if named != "" {
		path, err := filepath.Abs(named)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return "", fmt.Errorf("the demo game is not at %s", named)
		}
		return path, nil
	}
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the demo game: %w", err)
	}
	path := filepath.Join(filepath.Dir(own), "arena")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err != nil {
		return "", errNoProgram
	}
	return path, nil
}
