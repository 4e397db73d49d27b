package audit

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/internal/store"
)

// Verdict is the result of verifying a chain.
type Verdict struct {
	Records uint64 `json:"records"`
	From    uint64 `json:"from"` // the first record that must exist; of an export: the first that does
	Last    uint64 `json:"last"`
	Hash    string `json:"hash"`              // of the last record
	Problem string `json:"problem,omitempty"` // "" if the chain is intact
}

// link is the part of a record that links the chain.
type link struct{ previous, hash string }

// walk is the state of walking along a chain.
type walk struct {
	Verdict
	at uint64 // number of the last record visited; Hash is its hash
}

// step moves to the next record, and reports whether it follows.
func (w *walk) step(seq uint64, l link) bool {
	switch {
	case seq != w.at+1:
		w.Problem = fmt.Sprintf("record %d is missing", w.at+1)
	case l.previous != w.Hash:
		w.Problem = fmt.Sprintf("record %d does not follow record %d: one of them was changed", seq, w.at)
	default:
		w.at, w.Hash = seq, l.hash
		w.Records++
		return true
	}
	return false
}

// Verify walks the chain. The first problem is in the verdict; an error means that the
// log could not be read.
func (l *Log) Verify(ctx context.Context) (Verdict, error) {
	c := l.chain.Get(l.store.View(), chainID)
	if c == nil {
		v := Verdict{From: 1}
		rest, err := l.log.Read(ctx, store.LogQuery{Limit: 1})
		if err == nil && len(rest) > 0 {
			v.Problem = "there are records, but the state knows of none"
		}
		return v, err
	}
	w := walk{Verdict{From: c.From, Last: c.Seq, Hash: c.Before}, c.From - 1}
	if err := l.walk(ctx, &w); err != nil {
		return w.Verdict, err
	}
	switch {
	case w.Problem != "":
	case w.at < c.Seq:
		w.Problem = fmt.Sprintf("record %d is missing", w.at+1)
	case w.Hash != c.Hash:
		w.Problem = fmt.Sprintf("record %d was changed", w.at)
	}
	return w.Verdict, nil
}

// walk continues to the record w.Last, or to the first problem.
func (l *Log) walk(ctx context.Context, w *walk) error {
	for w.at < w.Last {
		page, err := l.log.Read(ctx, store.LogQuery{AfterSeq: w.at, Limit: 1000})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if w.at == w.Last { // others were appended after the state was read
				return nil
			}
			if !w.step(e.Seq, link{e.Value.Previous, digest(e.Seq, e.Value)}) {
				return nil
			}
		}
	}
	return nil
}

var errNoNumber = errors.New("it has no number")

// maxLine bounds a line of an export, in bytes.
const maxLine = 1 << 20

// VerifyExport walks the chain of records written as lines (Line), by a sink or by
// `muster admin audit -o json`. They may be in any order, and some may be repeated. The
// first problem is in the verdict; an error means that a line is not a record.
func VerifyExport(files ...io.Reader) (Verdict, error) {
	links, twice := map[uint64]link{}, uint64(0)
	for _, f := range files {
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, maxLine)
		for n := 1; lines.Scan(); n++ {
			var line Line
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Seq == 0 {
				return Verdict{}, fmt.Errorf("line %d is no record of the audit log: %w", n, cmp.Or(err, errNoNumber))
			}
			got := link{line.Previous, digest(line.Seq, &line.Record)}
			if old, seen := links[line.Seq]; seen && old != got && twice == 0 {
				twice = line.Seq
			}
			links[line.Seq] = got
		}
		if err := lines.Err(); err != nil {
			return Verdict{}, err
		}
	}
	all := slices.Sorted(maps.Keys(links))
	if len(all) == 0 {
		return Verdict{}, errors.New("there is no record in it")
	}
	w := walk{Verdict{From: all[0], Last: all[len(all)-1], Hash: links[all[0]].previous}, all[0] - 1}
	if twice != 0 {
		w.Problem = fmt.Sprintf("record %d is there twice, and not the same", twice)
		return w.Verdict, nil
	}
	for _, seq := range all {
		if !w.step(seq, links[seq]) {
			break
		}
	}
	return w.Verdict, nil
}
