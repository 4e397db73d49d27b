package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"runtime"
)

// secret is the value of a flag --NAME or its variable, or the file that --NAME-file names,
// since every user of the machine can read a command line.
type secret struct {
	name  string // of the flag
	value string
	file  string
}

// read returns the secret, or "" if neither is set. Of a file it is the first line without
// its end. If other users can read the file, it logs a warning.
func (s secret) read(log *slog.Logger) (string, error) {
	if s.file == "" {
		return s.value, nil
	}
	if s.value != "" {
		return "", s.conflict()
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return "", fmt.Errorf("%s-file: %w", s.name, err)
	}
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	switch {
	case len(line) == 0:
		return "", fmt.Errorf("%s-file: the first line of %s is empty", s.name, s.file)
	case len(bytes.TrimSpace(rest)) > 0:
		return "", fmt.Errorf("%s-file: %s has more than one line", s.name, s.file)
	}
	warnOfOthers(log, s.name+"-file", s.file)
	return string(line), nil
}

func (s secret) conflict() error {
	return fmt.Errorf("%s and %s-file are both given; leave one out", s.name, s.name)
}

// warnOfOthers warns if a file with secrets is readable by users who are neither its owner
// nor in its group.
func warnOfOthers(log *slog.Logger, flag, file string) {
	info, err := os.Stat(file)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 {
		log.Warn("a file with a secret can be read by every user of this machine; chmod o-r keeps them out", "flag", flag, "file", file)
	}
}
