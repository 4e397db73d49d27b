package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/musterhq/muster/event"
)

// written archives entries in a folder, in objects of at most limit bytes, and returns their lines.
func written(t testing.TB, dir, region string, entries []event.Entry, limit int) (lines []string) {
	t.Helper()
	o := newObject(0)
	put := func() {
		data, err := o.bytes()
		if err == nil {
			err = Folder(dir).Put(context.Background(), o.name(region), data)
		}
		must(t, err)
	}
	for _, e := range entries {
		added, err := o.add(e, limit)
		if err == nil && !added {
			put()
			o = newObject(e.Seq - 1)
			_, err = o.add(e, limit)
		}
		must(t, err)
		line, err := json.Marshal(event.Line{Seq: e.Seq, Event: *e.Value})
		must(t, err)
		lines = append(lines, string(line))
	}
	if !o.empty() {
		put()
	}
	return lines
}

// readAll returns the lines that a selection reads.
func readAll(ctx context.Context, s Source, q Selection) (lines []string, err error) {
	err = Read(ctx, s, q, func(line []byte, e *event.Line) error {
		lines = append(lines, string(line))
		again, err := json.Marshal(e)
		if err == nil && !bytes.Equal(again, line) {
			err = fmt.Errorf("event %d is decoded as %s, not %s", e.Seq, again, line)
		}
		return err
	})
	return lines, err
}

// What was archived is what is read, in order, for any selection.
func TestRead(t *testing.T) {
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		dir := filepath.Join(base, fmt.Sprint(runs))
		seq, at := uint64(0), time.Date(2026, 11, 25, 22, 0, 0, 0, time.UTC)
		codes := []event.Code{event.GenericEvent, event.HostLost, event.GameSessionCreated}
		var entries []event.Entry
		for range rapid.IntRange(1, 40).Draw(r, "events") {
			seq += uint64(rapid.SampledFrom([]int{1, 1, 1, 1, 1, 5}).Draw(r, "step"))
			at = at.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 20, 90}).Draw(r, "minutes")) * time.Minute)
			e := &event.Event{ID: fmt.Sprint("e-", seq), Time: at, Code: rapid.SampledFrom(codes).Draw(r, "code"), Message: strings.Repeat("<é>\u2028", rapid.IntRange(0, 20).Draw(r, "size"))}
			e.FleetID = rapid.SampledFrom([]string{"", "fleet-a", "fleet-b"}).Draw(r, "fleet")
			e.Resource = rapid.SampledFrom([]string{"", "fleet-a", "arn:x"}).Draw(r, "resource")
			if rapid.Bool().Draw(r, "noticed") {
				e.Notice = &event.Notice{DetailType: "placement", Source: "arn:q", Detail: []byte(`{"a":[1,"<"]}`)}
			}
			entries = append(entries, event.Entry{Seq: seq, Time: at, Value: e})
		}
		lines := written(t, dir, "us-east-1", entries, rapid.IntRange(1, 3000).Draw(r, "limit"))
		moment := rapid.Custom(func(r *rapid.T) time.Time {
			if rapid.Bool().Draw(r, "open") {
				return time.Time{}
			}
			return time.Date(2026, 11, 25, 21, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 50).Draw(r, "quarters")) * 15 * time.Minute)
		})
		q := Selection{
			After: uint64(rapid.IntRange(0, 60).Draw(r, "after")), Last: uint64(rapid.SampledFrom([]int{0, 0, 1, 7, 100}).Draw(r, "last")),
			From: moment.Draw(r, "from"), To: moment.Draw(r, "to"),
			Filter: event.Filter{
				FleetID:  rapid.SampledFrom([]string{"", "", "fleet-a"}).Draw(r, "of fleet"),
				Resource: rapid.SampledFrom([]string{"", "", "fleet-a", "arn:x"}).Draw(r, "of resource"),
				Codes:    rapid.SampledFrom([][]event.Code{nil, nil, {event.HostLost}, {event.HostLost, event.GenericEvent}}).Draw(r, "of codes"),
			},
		}
		var want []string
		for i, e := range entries {
			v := e.Value
			switch {
			case e.Seq <= q.After, q.Last > 0 && e.Seq+q.Last <= seq,
				!q.From.IsZero() && v.Time.Before(q.From), !q.To.IsZero() && !v.Time.Before(q.To),
				q.FleetID != "" && v.FleetID != q.FleetID, q.Resource != "" && v.Resource != q.Resource && v.FleetID != q.Resource,
				q.Codes != nil && !slices.Contains(q.Codes, v.Code):
			default:
				want = append(want, lines[i])
			}
		}
		got, err := readAll(t.Context(), Folder(dir), q)
		must(r, err)
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("%+v (-want +got):\n%s", q, diff)
		}
	})
}

func entries(first, last uint64) (all []event.Entry) {
	for seq := first; seq <= last; seq++ {
		at := time.Date(2026, 11, 25, 1, 0, int(seq%3600), 0, time.UTC)
		all = append(all, event.Entry{Seq: seq, Time: at, Value: &event.Event{ID: fmt.Sprint(seq), Time: at, Code: event.GenericEvent, Message: "hello"}})
	}
	return all
}

// The error of a damaged object says which line of which file is damaged, and how to go on.
// What is before that line is read.
func TestRead_Damaged(t *testing.T) {
	t.Parallel()
	const name = "us-east-1/2026/11/25/01/0000000000000001-0000000000000005.ndjson"
	dir := t.TempDir()
	lines := written(t, dir, "us-east-1", entries(1, 5), 1<<20)
	good, err := os.ReadFile(filepath.Join(dir, name+".gz"))
	must(t, err)
	wrong := slices.Clone(good)
	wrong[len(wrong)-6] ^= 1 // of the checksum
	text := strings.Join(lines, "\n") + "\n"
	for what, c := range map[string]struct {
		file string
		data []byte
		line int
		want string
		read int
	}{
		"cut off":           {name + ".gz", good[:len(good)-12], 5, "unexpected EOF", -1},
		"checksum":          {name + ".gz", wrong, 6, "gzip: invalid checksum", 5},
		"head":              {name + ".gz", good[:5], 1, "unexpected EOF", 0},
		"no JSON":           {name, []byte(strings.Replace(text, `{"seq":3,`, `{"seq":3;`, 1)), 3, "no event: ", 2},
		"a line is missing": {name, []byte(strings.Replace(text, lines[2]+"\n", "", 1)), 3, "it has event 4, and should have 3", 2},
		"a line twice":      {name, []byte(strings.Replace(text, lines[2], lines[2]+"\n"+lines[2], 1)), 4, "it has event 3, and should have 4", 3},
		"too short":         {name, []byte(strings.Join(lines[:4], "\n")), 5, "the object ends before event 5", 4},
		"too long":          {name, []byte(text + "{}\n"), 6, "", 5},
		"empty":             {name, nil, 1, "the object ends before event 1", 0},
		"a long line":       {name, []byte(lines[0] + "\n" + strings.Repeat(" ", longestLine+1)), 2, "the line has more than 16 MiB", 1},
		"other numbers":     {"us-east-1/2026/11/25/01/0000000000000002-0000000000000005.ndjson", []byte(text), 1, "it has event 1, and should have 2", 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, Folder(dir).Put(t.Context(), c.file, c.data))
			got, err := readAll(t.Context(), Folder(dir), Selection{})
			begin := fmt.Sprintf("%s: line %d: ", filepath.Join(dir, filepath.FromSlash(c.file)), c.line)
			if c.read < 0 { // how much is unpacked is gzip's affair
				begin = filepath.Join(dir, filepath.FromSlash(c.file)) + ": line "
			}
			if err == nil || !strings.HasPrefix(err.Error(), begin) || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "; --after 5 goes on behind this object") {
				t.Errorf("the error is %v; want %s%s", err, begin, c.want)
			}
			if c.read >= 0 && len(got) != c.read {
				t.Errorf("%d events are read, want %d", len(got), c.read)
			}
			if got, err = readAll(t.Context(), Folder(dir), Selection{After: 5}); err != nil || len(got) != 0 {
				t.Errorf("behind it there is %v, %v", got, err)
			}
		})
	}
}

// An archive of several regions needs one to be chosen. Files with other names are none of it,
// and an object that was unpacked beside itself is read once.
func TestRead_Region(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := readAll(t.Context(), Folder(dir), Selection{}); err == nil || !strings.Contains(err.Error(), "has no archive of events: name what --events-archive") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := readAll(t.Context(), Folder(filepath.Join(dir, "none")), Selection{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	east := written(t, dir, "us-east-1", entries(1, 7), 1000)
	for name, text := range map[string]string{
		"us-east-1/notes.txt": "?", "us-east-1/2026/11/25/01/.0000000000000001-0000000000000005.ndjson.gz.tmp": "?", "us-east-1/2026/11/25/01/0000000000000001-x.ndjson": "?",
	} {
		must(t, Folder(dir).Put(t.Context(), name, []byte(text)))
	}
	for name := range Folder(dir).List(t.Context(), "us-east-1", "") {
		if !strings.HasSuffix(name, ".gz") {
			continue
		}
		packed, err := os.Open(Folder(dir).At(name))
		must(t, err)
		zip, err := gzip.NewReader(packed)
		must(t, err)
		text, err := io.ReadAll(zip)
		packed.Close()
		must(t, err)
		must(t, Folder(dir).Put(t.Context(), strings.TrimSuffix(name, ".gz"), text))
	}
	if got, err := readAll(t.Context(), Folder(dir), Selection{}); err != nil || !slices.Equal(got, east) {
		t.Errorf("the only region has %v, %v", got, err)
	}
	west := written(t, dir, "eu-west-1", entries(1, 3), 1000)
	if _, err := readAll(t.Context(), Folder(dir), Selection{}); err == nil || !strings.HasSuffix(err.Error(), "choose one with --region: eu-west-1, us-east-1") {
		t.Errorf("two regions: %v", err)
	}
	if got, err := readAll(t.Context(), Folder(dir), Selection{Region: "eu-west-1"}); err != nil || !slices.Equal(got, west) {
		t.Errorf("eu-west-1 has %v, %v", got, err)
	}
	if _, err := readAll(t.Context(), Folder(dir), Selection{Region: "eu-north-1"}); err == nil || !strings.HasSuffix(err.Error(), "has no region eu-north-1, but eu-west-1, us-east-1") {
		t.Errorf("another region: %v", err)
	}
}

// The command's way through an archive of 100,000 events of 190 bytes, in objects of 1 MiB.
func BenchmarkRead(b *testing.B) {
	const events = 100_000
	dir := b.TempDir()
	all := entries(1, events)
	for _, e := range all {
		e.Value.FleetID, e.Value.Location = "fleet-7c0ffee0-0000-4000-8000-000000000000", "us-east-1"
	}
	lines := written(b, dir, "us-east-1", all, 1<<20)
	bytes := 0
	for _, l := range lines {
		bytes += len(l) + 1
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := Read(b.Context(), Folder(dir), Selection{}, func([]byte, *event.Line) error { n++; return nil }); err != nil || n != events {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
