package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/wake"
)

const recordsPath = "/admin/v1/players"

// Limits of the records of one request, and of one line.
const (
	recordsAtOnce = 500
	bytesAtOnce   = 1 << 20
	longestRecord = 8 << 20
)

// How often, and after what time, records are sent again that the server refused for now.
const (
	recordTries = 30
	recordPause = time.Second
)

// mostProblems is how many problems with records an error tells.
const mostProblems = 20

// AddedRecords says how many players a server did not have, and had already.
type AddedRecords struct{ New, Same int }

// Export writes the records of all players of a server as JSON lines; the last line is their
// number, by which Import knows that they are whole. It returns that number.
func (p Players) Export(ctx context.Context, w io.Writer) (players int, err error) {
	answer, err := p.client.open(ctx, http.MethodGet, recordsPath, nil, nil)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return eachRecord(answer.Body, func(line []byte) error {
		_, err := w.Write(append(line, '\n'))
		return err
	}, w)
}

// eachRecord calls f with each line but the last, which it checks and copies to end.
func eachRecord(r io.Reader, f func(line []byte) error, end io.Writer) (players int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestRecord)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), []byte(`{"players":`)) {
			players++
			if err := f(lines.Bytes()); err != nil {
				return players, err
			}
			continue
		}
		var last struct{ Players int }
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			return players, fmt.Errorf("the last line of the players' records: %w", err)
		}
		if last.Players != players || lines.Scan() {
			return players, fmt.Errorf("there are other players' records than the %d that their last line says", last.Players)
		}
		_, err := fmt.Fprintf(end, "{\"players\":%d}\n", players)
		return players, errors.Join(err, lines.Err())
	}
	if err := lines.Err(); err != nil {
		return players, fmt.Errorf("read the players' records: %w", err)
	}
	return players, fmt.Errorf("the players' records end after %d, without the line that says how many there are: they are not whole", players)
}

// CheckImport reports what Import would do, without doing it. The error names the players that
// cannot be added.
func (p Players) CheckImport(ctx context.Context, records io.Reader) (AddedRecords, error) {
	return p.sendRecords(ctx, records, true, nil)
}

// Import adds the players of records that Export wrote. Those who are there, just as they
// are in the records, are left. Import should be called after CheckImport: it stops at a problem,
// and players added before stay. progress is called with how many were sent; it may be nil.
func (p Players) Import(ctx context.Context, records io.Reader, progress func(sent int)) (AddedRecords, error) {
	return p.sendRecords(ctx, records, false, progress)
}

func (p Players) sendRecords(ctx context.Context, records io.Reader, check bool, progress func(int)) (AddedRecords, error) {
	s := &recordSender{players: p, check: check, seen: newSeen(check)}
	_, err := eachRecord(records, func(line []byte) error {
		if err := s.add(ctx, line); err != nil {
			return err
		}
		if progress != nil {
			progress(s.sent)
		}
		return nil
	}, io.Discard)
	if err == nil {
		err = s.flush(ctx)
	}
	if err == nil && len(s.problems) > 0 {
		err = s.refused()
	}
	return s.total, err
}

// recordSender sends records in requests of limited size.
type recordSender struct {
	players  Players
	check    bool
	seen     *seenRecords
	batch    []json.RawMessage
	size     int
	sent     int
	total    AddedRecords
	problems []string
	more     int // problems that are only counted
}

func (s *recordSender) add(ctx context.Context, line []byte) error {
	if problem := s.seen.problem(line); problem != "" {
		s.problem(problem)
	}
	if len(s.batch) == recordsAtOnce || len(s.batch) > 0 && s.size+len(line) > bytesAtOnce {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	s.batch, s.size = append(s.batch, bytes.Clone(line)), s.size+len(line)
	return nil
}

func (s *recordSender) problem(text string) {
	if slices.Contains(s.problems, text) {
		return // the server found it too
	}
	if len(s.problems) < mostProblems {
		s.problems = append(s.problems, text)
	} else {
		s.more++
	}
}

// flush sends what was added; while the server is busy, again.
func (s *recordSender) flush(ctx context.Context) error {
	if len(s.batch) == 0 {
		return nil
	}
	in := struct {
		Records []json.RawMessage `json:"records"`
		Check   bool              `json:"check,omitempty"`
	}{s.batch, s.check}
	var out struct {
		New, Same int
		Problems  []string
	}
	for try := 1; ; try++ {
		err := s.players.client.change(ctx, http.MethodPost, recordsPath, in, &out)
		if e, ok := errors.AsType[*Error](err); ok && try < recordTries && (e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable) && wake.Sleep(ctx, recordPause) {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	for _, p := range out.Problems {
		s.problem(p)
	}
	s.total.New, s.total.Same = s.total.New+out.New, s.total.Same+out.Same
	s.sent += len(s.batch)
	s.batch, s.size = nil, 0
	if !s.check && len(out.Problems) > 0 {
		return s.refused()
	}
	return nil
}

// refused returns the error that names the players who cannot be added.
func (s *recordSender) refused() error {
	text := "players cannot be taken over:\n  " + strings.Join(s.problems, "\n  ")
	if s.more > 0 {
		text += fmt.Sprintf("\n  and %d more", s.more)
	}
	return errors.New(text)
}

// seenRecords finds the players and external accounts that are in records twice, which a server
// cannot see across requests.
type seenRecords struct{ players, accounts map[string]struct{} }

func newSeen(check bool) *seenRecords {
	if !check {
		return nil
	}
	return &seenRecords{map[string]struct{}{}, map[string]struct{}{}}
}

// problem returns what is twice, "" if nothing is.
func (s *seenRecords) problem(line []byte) string {
	if s == nil {
		return ""
	}
	var one struct {
		Player struct{ ID string }
		Links  []struct{ Provider, Subject string }
	}
	if err := json.Unmarshal(line, &one); err != nil {
		return "a line of the records is no JSON: " + err.Error()
	}
	if !added(s.players, one.Player.ID) {
		return fmt.Sprintf("player %s: is there twice", one.Player.ID)
	}
	for _, l := range one.Links {
		if !added(s.accounts, l.Provider+"|"+l.Subject) {
			return fmt.Sprintf("player %s: an account of %s is linked to another player too", one.Player.ID, l.Provider)
		}
	}
	return ""
}

// added adds a text to a set, and reports whether it was not there.
func added(set map[string]struct{}, text string) bool {
	_, there := set[text]
	set[text] = struct{}{}
	return !there
}
