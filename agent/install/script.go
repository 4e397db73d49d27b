package install

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// scriptName is the name of a build's install script, at its root (API reference,
// CreateFleet: install.sh or install.bat).
func scriptName() string {
	if runtime.GOOS == "windows" {
		return "install.bat"
	}
	return "install.sh"
}

// script runs a build's install script, if it has one.
func (c *Cache) script(ctx context.Context, dir, log string) error {
	path := filepath.Join(dir, scriptName())
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return &Failure{Stage: Script, Text: "keep the install script's words: " + err.Error(), Err: err}
	}
	defer out.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.ScriptTime, errScriptTime)
	defer cancel()
	cmd, err := scriptCommand(ctx, path)
	if err != nil {
		return &Failure{Stage: Script, Text: err.Error(), Err: err}
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = CleanEnvironment()
	cmd.WaitDelay = 5 * time.Second
	killGroup(cmd)
	start := asOurselves
	if c.opts.Guest != nil {
		start = c.opts.Guest
	}
	dismiss, err := start(cmd, dir)
	if err != nil {
		return &Failure{Stage: Script, Text: err.Error(), Err: err}
	}
	err = cmd.Wait()
	if left := dismiss(); left != nil {
		return &Failure{Stage: Script, Err: left, Text: fmt.Sprintf("what %s left cannot be used: %v", scriptName(), left)}
	}
	switch {
	case err == nil:
		if runtime.GOOS != "windows" && WindowsLineEnds(dir) {
			c.opts.Log.Warn(lineEndsText+"; it did not fail, but what it made may have other names", "log", log)
		}
		return nil
	case errors.Is(context.Cause(ctx), errScriptTime):
		return &Failure{Stage: Script, Err: err, Text: fmt.Sprintf("%s was still running after %s%s", scriptName(), c.opts.ScriptTime, lastWords(log))}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if runtime.GOOS != "windows" && WindowsLineEnds(dir) {
		return &Failure{Stage: Script, Err: err, Text: fmt.Sprintf("%s; it failed: %v%s", lineEndsText, err, lastWords(log))}
	}
	return &Failure{Stage: Script, Err: err, Text: fmt.Sprintf("%s failed: %v%s", scriptName(), err, lastWords(log))}
}

const lineEndsText = "install.sh has Windows line ends (CRLF), which a shell takes for part of each line: " +
	`save it with Unix ones (LF), and in Git keep them with "*.sh text eol=lf" in .gitattributes`

// WindowsLineEnds reports whether the install.sh of a build has lines that end as those of Windows
// do. It is false if there is no such file.
func WindowsLineEnds(dir string) bool {
	file, err := os.Open(filepath.Join(dir, "install.sh"))
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 64<<10) // a script that has some has them from its first lines on
	n, err := io.ReadFull(file, head)
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && bytes.Contains(head[:n], []byte("\r\n"))
}

func asOurselves(cmd *exec.Cmd, _ string) (dismiss func() error, err error) {
	return func() error { return nil }, cmd.Start()
}

var errScriptTime = errors.New("the install script took too long")

// scriptCommand returns a command that runs a script with the interpreter named in
// its first line. The file need not be executable: archives created on Windows lose
// that.
func scriptCommand(ctx context.Context, path string) (*exec.Cmd, error) {
	if runtime.GOOS == "windows" {
		return exec.CommandContext(ctx, "cmd.exe", "/c", path), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	words := []string{"/bin/sh"}
	first, _ := bufio.NewReader(io.LimitReader(file, 256)).ReadString('\n') // a short file is no error
	if named, ok := strings.CutPrefix(first, "#!"); ok && len(strings.Fields(named)) > 0 {
		words = strings.Fields(named)
	}
	return exec.CommandContext(ctx, words[0], append(words[1:], path)...), nil
}

// CleanEnvironment returns the part of our environment that other people's programs
// get: nothing that could be a secret.
func CleanEnvironment() []string {
	env := []string{"LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// lastWords quotes the end of a script's output, however long that is.
func lastWords(log string) string {
	file, err := os.Open(log)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(file, max(info.Size()-4096, 0), 4096))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(text), "�")), "\n")
	last := strings.Join(lines[max(len(lines)-3, 0):], " / ")
	if last == "" {
		return ", and said nothing"
	}
	return `; its last words: "` + last[max(len(last)-400, 0):] + `"`
}
