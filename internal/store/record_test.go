package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/musterhq/muster/internal/store"
)

// dicey is a domain whose commands use time, random numbers, identifiers and the
// actor.
type dicey struct {
	*store.Store
	rolls *store.Table[roll]
	notes *store.Log[sighting]
	roll  *store.Command[int, string]
	drop  *store.Command[string, bool]
}

type roll struct {
	ID   string `json:"id"`
	Pips []int  `json:"pips"`
	At   string `json:"at"`
	By   string `json:"by"`
}

// newDicey returns a dicey; another number of sides stands for another version of the
// program, in which each die has at least six more pips.
func newDicey(opts store.Options, sides int) *dicey {
	d := &dicey{Store: store.New(opts)}
	d.rolls = store.NewTable(d.Store, store.TableSpec[roll]{Name: "roll", Key: func(r *roll) string { return r.ID }})
	d.notes = store.NewLog(d.Store, store.LogSpec[sighting]{Name: "note"})
	d.roll = store.NewCommand(d.Store, "roll", func(tx *store.Tx, n int) (string, error) {
		r := &roll{ID: tx.ID("roll-"), At: store.TimeKey(tx.Now()), By: tx.Actor()}
		for range n {
			r.Pips = append(r.Pips, sides-5+tx.Rand().IntN(6))
		}
		d.rolls.Put(tx, r)
		d.notes.Append(tx, &sighting{Ship: r.ID})
		if n > 5 {
			return "", errors.New("too many dice")
		}
		return r.ID, nil
	})
	d.drop = store.NewCommand(d.Store, "drop", func(tx *store.Tx, id string) (bool, error) { return d.rolls.Delete(tx, id), nil })
	return d
}

// recordSome runs commands on a recorded store and returns the file and the last
// state.
func recordSome(t *testing.T) (string, *store.Snapshot) {
	t.Helper()
	driver := store.NewMemory()
	before := newDicey(store.Options{Driver: driver}, 6)
	if err := before.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	old := must[string](t)(before.roll.Do(t.Context(), 2))
	before.Close()

	file := filepath.Join(t.TempDir(), "recording")
	d := newDicey(store.Options{Driver: driver, Record: file}, 6)
	if err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := store.WithActor(t.Context(), "ann")
	for i := range 20 {
		_, err := d.roll.Do(ctx, i%7)
		if (err != nil) != (i%7 == 6) {
			t.Fatal(err)
		}
	}
	must[bool](t)(d.drop.Do(ctx, old))
	must[bool](t)(d.drop.Do(ctx, "nothing"))
	err := d.Update(ctx, func(tx *store.Tx) error {
		d.rolls.Put(tx, &roll{ID: "by hand", Pips: nil})
		d.notes.Append(tx, &sighting{What: "by hand"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	must[bool](t)(d.drop.Do(ctx, "by hand"))
	must[string](t)(d.roll.Do(ctx, 1))
	sn := d.View()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return file, sn
}

func replayFile(t *testing.T, raw []byte, sides int) (store.ReplayReport, *dicey, error) {
	t.Helper()
	d := newDicey(store.Options{Driver: store.NewMemory()}, sides)
	t.Cleanup(func() { d.Close() })
	report, err := store.Replay(t.Context(), d.Store, bytes.NewReader(raw))
	return report, d, err
}

func TestReplay_GivesTheSameState(t *testing.T) {
	t.Parallel()
	file, want := recordSome(t)
	raw := must[[]byte](t)(os.ReadFile(file))
	report, d, err := replayFile(t, raw, 6)
	if err != nil {
		t.Fatal(err)
	}
	expected := store.ReplayReport{Commands: 22, Seq: want.Seq(), Digest: want.Digest(), Ended: true}
	if diff := cmp.Diff(expected, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if got := d.notes.Last(d.View()); got != 21 {
		t.Errorf("last note = %d, want 21", got)
	}
}

func TestReplay_FindsTheFirstDivergence(t *testing.T) {
	t.Parallel()
	file, _ := recordSome(t)
	raw := must[[]byte](t)(os.ReadFile(file))
	report, _, err := replayFile(t, raw, 20)
	if err != nil {
		t.Fatal(err)
	}
	if d := report.Divergence; d == nil || d.Command != "roll" || d.Seq != 3 || report.Ended {
		t.Errorf("report of another program's replay = %+v, %+v", report, d)
	}
}

func TestReplay_CutOff(t *testing.T) {
	t.Parallel()
	file, want := recordSome(t)
	raw := must[[]byte](t)(os.ReadFile(file))
	report, _, err := replayFile(t, raw[:len(raw)-200], 6)
	if err != nil || report.Ended || report.Divergence != nil || report.Seq >= want.Seq() {
		t.Errorf("replay of a file cut off = %+v, %v", report, err)
	}
	for _, c := range []struct{ name, text string }{
		{"empty", ""},
		{"no state", `{"end":{"seq":1,"digest":""}}` + "\n"},
		{"unknown form", `{"state":{"version":99}}` + "\n"},
		{"rows missing", `{"state":{"version":3,"rows":2}}` + "\n" + `{"end":{"seq":0,"digest":""}}` + "\n"},
		{"unknown table", `{"state":{"version":3,"rows":1}}` + "\n" + `{"row":{"kind":"put","in":"x","key":"k","doc":{}}}` + "\n"},
		{"nothing said", `{"state":{"version":3,"rows":0}}` + "\n{}\n"},
		{"no JSON", "hello\n"},
	} {
		if _, _, err := replayFile(t, []byte(c.text), 6); err == nil {
			t.Errorf("%s: the recording was accepted", c.name)
		}
	}
}

// TestRecord_SurvivesFailedCommits: failed commands are not in the recording; those
// of unknown outcome are, as the state found afterwards.
func TestRecord_SurvivesFailedCommits(t *testing.T) {
	t.Parallel()
	driver := &flaky{Memory: store.NewMemory()}
	file := filepath.Join(t.TempDir(), "recording")
	d := newDicey(store.Options{Driver: driver, Record: file}, 6)
	if err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		switch i % 6 {
		case 2:
			driver.nextCommit(func(func() error) error { return errDisk })
		case 4:
			driver.nextCommit(func(do func() error) error { return errors.Join(do(), errDisk) })
		}
		if _, err := d.roll.Do(t.Context(), 3); err != nil {
			retry(t, func() error { return d.Update(t.Context(), func(*store.Tx) error { return nil }) })
		}
	}
	want := d.View()
	d.Close()
	raw := must[[]byte](t)(os.ReadFile(file))
	if n := strings.Count(string(raw), `{"state":`); n != 3 {
		t.Errorf("%d states in the recording, want 3: at the start and after two unknown outcomes", n)
	}
	report, _, err := replayFile(t, raw, 6)
	if err != nil || !report.Ended || report.Digest != want.Digest() || want.Seq() != 10 {
		t.Errorf("replay = %+v, %v", report, err)
	}
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"state":{"version":3,"cell":"default","seq":1,"logs":{"note":1},"rows":1}}
{"row":{"kind":"put","in":"roll","key":"a","doc":{"id":"a","pips":[1],"at":"","by":""}}}
{"command":{"seq":2,"time":"2026-01-01T00:00:00Z","seed":"00000000000000000000000000000001","ids":"2","name":"drop","args":"a","digest":"0"}}
{"end":{"seq":2,"digest":"00"}}
`))
	f.Add([]byte(`{"state":{"version":3,"rows":0}}
{"command":{"seq":1,"time":"2026-01-01T00:00:00Z","seed":"00000000000000000000000000000001","ids":"2","changes":[{"kind":"put","in":"roll","doc":{}},{"kind":"append","in":"note","doc":null}],"digest":""}}
`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		report, d, err := replayFile(t, raw, 6)
		if err == nil && report.Ended && report.Digest != d.View().Digest() {
			t.Errorf("a replay that ended says digest %s, the state has %s", report.Digest, d.View().Digest())
		}
	})
}

func FuzzKey(f *testing.F) {
	f.Add("a", "b", "a", "bc")
	f.Add("", "", "", "\x01")
	f.Fuzz(func(t *testing.T, a1, a2, b1, b2 string) {
		for _, part := range []string{a1, a2, b1, b2} {
			if strings.Contains(part, "\x00") {
				t.Skip("parts do not contain 0x00")
			}
		}
		byPart := strings.Compare(a1, b1)
		if byPart == 0 {
			byPart = strings.Compare(a2, b2)
		}
		if got := strings.Compare(store.Key(a1, a2), store.Key(b1, b2)); got != byPart {
			t.Errorf("keys of %q and %q compare %d, the parts %d", []string{a1, a2}, []string{b1, b2}, got, byPart)
		}
		if strings.HasPrefix(store.Key(a1, a2), store.Key(b1)) != (a1 == b1) {
			t.Errorf("Key(%q) as a prefix of Key(%q, %q)", b1, a1, a2)
		}
	})
}
