package terminal

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// startTime is how long the start of a browser is watched for a failure.
const startTime = 3 * time.Second

// OpenFile opens a file, named by an absolute path, in the user's browser: the program that the
// variable BROWSER names, or the system's choice. It returns an error if there is none, or if
// it fails at once.
func OpenFile(path string) error {
	cmd, err := browser(fileURL(path))
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a browser: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", cmd.Path, err)
		}
	case <-time.After(startTime): // it is the browser itself, and stays
	}
	return nil
}

// browser returns the command that opens a URL.
func browser(at string) (*exec.Cmd, error) {
	if program := os.Getenv("BROWSER"); program != "" {
		return exec.Command(program, at), nil
	}
	switch runtime.GOOS {
	case "darwin":
		return exec.Command("open", at), nil
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", at), nil
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil, errors.New("there is no screen for a browser: DISPLAY and WAYLAND_DISPLAY are not set")
	}
	return exec.Command("xdg-open", at), nil
}

// fileURL returns the URL of a file.
func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
