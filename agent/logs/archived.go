package logs

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/musterhq/muster/hosts/protocol"
)

// Names of the outputs of a program.
const (
	Output = "output"
	Errors = "errors"
)

// Archived returns the end of each output in an archive of a Packer, at most so many bytes
// of each: of a program its output and errors, of a container group the output of each
// container.
func Archived(r io.ReaderAt, size int64, most int) ([]protocol.Stream, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("read archive of logs: %w", err)
	}
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
	}
	var out []protocol.Stream
	for _, f := range z.File {
		name, ok := streamOf(f.Name)
		if !ok {
			continue
		}
		text, err := endOf(f, most)
		if before := files[f.Name+".1"]; err == nil && before != nil && len(text) < most {
			var older []byte
			older, err = endOf(before, most-len(text))
			text = append(older, text...)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s in archive of logs: %w", f.Name, err)
		}
		out = append(out, protocol.Stream{Name: name, Text: text, End: int64(f.UncompressedSize64)})
	}
	slices.SortStableFunc(out, func(a, b protocol.Stream) int { return cmp.Compare(rank(a.Name), rank(b.Name)) })
	if len(out) == 1 {
		out[0].Name = Output
	}
	return out, nil
}

// streamOf returns the name of the output whose current file has a name in an archive.
func streamOf(file string) (string, bool) {
	_, name, ok := strings.Cut(file, ".") // after the id of the process
	name, log := strings.CutSuffix(name, ".log")
	if !ok || !log || strings.Contains(file, "/") {
		return "", false
	}
	switch name {
	case "stdout":
		return Output, true
	case "stderr":
		return Errors, true
	}
	return name, true
}

// rank orders outputs: those of a program before those of containers.
func rank(name string) int {
	at := slices.Index([]string{Output, Errors}, name)
	if at < 0 {
		return 2
	}
	return at
}

// endOf returns the last bytes of a file in an archive.
func endOf(f *zip.File, most int) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	last := Last{Most: most}
	if n, err := io.Copy(&last, io.LimitReader(in, maxBytes+1)); err != nil {
		return nil, err
	} else if n > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	return last.Bytes(), nil
}
