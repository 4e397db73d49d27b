package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/event/archive"
	"github.com/musterhq/muster/test/node"
)

// archived writes an archive of one object a hour with events of two codes, and returns its folder and lines.
func archived(t *testing.T, hours int) (dir string, lines []string) {
	t.Helper()
	dir = t.TempDir()
	for hour := range hours {
		var text bytes.Buffer
		first := 3*hour + 1
		at := time.Date(2026, 11, 25, hour, 0, 0, 0, time.UTC)
		for seq := first; seq < first+3; seq++ {
			e := event.Line{Seq: uint64(seq), Event: event.Event{ID: fmt.Sprint("e-", seq), Time: at, Code: event.HostJoined, Resource: fmt.Sprint("host-", seq), Message: "a\u202eb"}}
			if seq%3 == 0 {
				e.Code, e.FleetID, e.Resource = event.FleetCreated, "fleet-a", ""
			}
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
			text.Write(append(line, '\n'))
		}
		name := fmt.Sprintf("us-east-1/%s/%016d-%016d.ndjson", at.Format("2006/01/02/15"), first, first+2)
		if err := archive.Folder(dir).Put(t.Context(), name, text.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	return dir, lines
}

// events runs `muster events`.
func events(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return typed(t, t.Context(), append([]string{"events"}, args...)...)
}

// An archive is read without a server, by the filters of the live log.
func TestEvents_Archive(t *testing.T) {
	dir, lines := archived(t, 4)
	for args, want := range map[string][]string{
		"": lines, "--last 2": lines[10:], "--last 0": nil, "--after 10": lines[10:], "--last 5 --after 11": lines[11:],
		"--since 2026-11-25T03:00:00Z": lines[9:], "--until 2026-11-25T01:00:00Z": lines[:3],
		"--code host_joined --until 2026-11-25T01:00:00Z": lines[:2], "--fleet fleet-a --last 3": lines[11:],
		"--fleet arn:aws:gamelift:us-east-1::fleet/fleet-a --last 3": lines[11:], "--resource host-4": lines[3:4], "--code HOST_LOST,HOST_GONE": nil,
		"--region us-east-1 --since 2026-11-25T01:00:00Z --until 2026-11-25T02:00:00Z": lines[3:6],
	} {
		code, out, errs := events(t, append(strings.Fields(args), "--archive", dir, "-o", "json")...)
		if got := strings.ReplaceAll(strings.Join(want, "\n"), "\u202e", `\u202e`); code != 0 || errs != "" || strings.TrimSuffix(out, "\n") != got {
			t.Errorf("%q: code %d %s, prints\n%swant\n%s", args, code, errs, out, got)
		}
	}
	code, out, errs := events(t, "--archive", dir, "--last", "1")
	local := time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC).Local().Format("2006-01-02 15:04:05.000")
	if want := fmt.Sprintf("    12  %s  FLEET_CREATED", local); code != 0 || errs != "" || !strings.HasPrefix(out, want) || strings.Contains(out, "\u202e") {
		t.Errorf("code %d %s, prints %q; want %q", code, errs, out, want)
	}
}

func TestEvents_ArchiveRefused(t *testing.T) {
	dir, _ := archived(t, 2)
	bad := filepath.Join(dir, "us-east-1", "2026", "11", "25", "00", "0000000000000001-0000000000000003.ndjson")
	if err := archive.Folder(dir).Put(t.Context(), "us-east-1/2026/11/25/00/0000000000000001-0000000000000003.ndjson", []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                                "muster: " + bad + ": line 1: it has event 0, and should have 1; --after 3 goes on behind this object",
		"--region eu-west-1":              "has no region eu-west-1, but us-east-1",
		"--follow":                        "follow: an archive has the past only",
		"--fleet live":                    `fleet: "live" is no id or ARN of a fleet, which an archive needs`,
		"--session gsess-1":               `session: "gsess-1" is no ARN of a game session, which an archive needs`,
		"--since soon":                    `since: "soon" is neither how long ago it was`,
		"--since 1h --until 2h":           "until: no event is before that and since --since",
		"--code x-y":                      `code: "X-Y" is no code of events`,
		"--last=-1":                       "last: -1 is less than 0",
		"--archive s3://A":                `archive: "A" is not the name of a bucket`,
		"--archive " + dir + "/us-east-1": "has no archive of events: name what --events-archive of the server names",
	} {
		if code, out, errs := events(t, append([]string{"--archive", dir}, strings.Fields(args)...)...); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%q: code %d, prints %s%s; want %s", args, code, out, errs, want)
		}
	}
	if code, out, errs := events(t, "--archive", dir, "--after", "3"); code != 0 || strings.Count(out, "\n") != 3 {
		t.Errorf("behind the damage: code %d %s, prints\n%s", code, errs, out)
	}
}

// What reads the output may end early.
func TestEvents_ArchiveCutOff(t *testing.T) {
	dir, _ := archived(t, 2)
	r, w := io.Pipe()
	r.Close()
	var errs bytes.Buffer
	if code := run([]string{"events", "--archive", dir}, &streams{ctx: t.Context(), out: w, err: &errs}); code != 1 || !strings.Contains(errs.String(), io.ErrClosedPipe.Error()) {
		t.Errorf("code %d, %s", code, &errs)
	}
}

// told ends a context with the first line written.
type told struct {
	bytes.Buffer
	end context.CancelFunc
}

func (w *told) Write(p []byte) (int, error) {
	defer w.end()
	return w.Buffer.Write(p)
}

// Who follows a game session that does not exist is told so at once.
func TestEvents_NoSuchSession(t *testing.T) {
	t.Parallel()
	a := node.InProcess(t, nil)
	const id = "arn:aws:gamelift:us-east-1::gamesession/fleet-00000000-0000-0000-0000-000000000000/us-east-1/no"
	if code, out, stderr := typed(t, t.Context(), "events", "--session", id, "--endpoint", a.URL()); code != 1 || out != "" || !strings.Contains(stderr, "session: "+id+" does not exist, and the log has no events of it") {
		t.Errorf("exit code %d: %q\n%s", code, out, stderr)
	}
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	stderr := &told{end: end}
	code := run([]string{"events", "--follow", "--session", id, "--endpoint", a.URL()}, &streams{ctx: ctx, out: io.Discard, err: stderr})
	if code != 0 || stderr.String() != "muster: session: "+id+" does not exist; what the log has of it follows, and what may come\n" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
