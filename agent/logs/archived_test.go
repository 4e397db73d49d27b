package logs

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/musterhq/muster/hosts/protocol"
)

// archiveOf returns an archive as a Packer makes it.
func archiveOf(t *testing.T, files map[string]string) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	p := NewPacker(&out)
	from := fstest.MapFS{}
	for name, text := range files {
		from[name] = &fstest.MapFile{Data: []byte(text)}
	}
	p.Tree(from, ".", "")
	if err := p.Finish(protocol.Collect{ProcessID: "p1"}); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

func TestArchived(t *testing.T) {
	type stream struct {
		name, text string
		end        int64
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []stream
	}{
		"program": {
			map[string]string{"p1.stderr.log": "warning\n", "p1.stdout.log": "hello\n", "logs/game.log": "not an output", "logs/exit.txt": "exited"},
			[]stream{{Output, "hello\n", 6}, {Errors, "warning\n", 8}},
		},
		"rotated": {
			map[string]string{"p1.stdout.log": "new\n", "p1.stdout.log.1": "0123456789old\n", "p1.stderr.log": ""},
			[]stream{{Output, "89old\nnew\n", 4}, {Errors, "", 0}},
		},
		"cut": {
			map[string]string{"p1.stdout.log": strings.Repeat("x", 20) + "y", "p1.stdout.log.1": "older", "p1.stderr.log": ""},
			[]stream{{Output, "xxxxxxxxxy", 21}, {Errors, "", 0}},
		},
		"container": {
			map[string]string{"p1.game.log": "hello\n", "p1.exit.txt": "exited"},
			[]stream{{Output, "hello\n", 6}},
		},
		"containers": {
			map[string]string{"p1.sidecar.log": "beside\n", "p1.game.log": "hello\n"},
			[]stream{{"game", "hello\n", 6}, {"sidecar", "beside\n", 7}},
		},
		"nothing": {map[string]string{"logs/game.log": "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := archiveOf(t, c.files)
			got, err := Archived(r, r.Size(), 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
			for n, s := range got {
				if (stream{s.Name, string(s.Text), s.End}) != c.want[n] {
					t.Errorf("stream %d is %s %q %d, want %+v", n, s.Name, s.Text, s.End, c.want[n])
				}
			}
		})
	}
	if _, err := Archived(strings.NewReader("no archive"), 10, 10); err == nil {
		t.Error("a file that is no archive was read")
	}
}
