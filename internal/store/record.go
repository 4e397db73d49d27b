package store

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A recording is a file of JSON lines: the whole state, then each committed command
// in order. A command is written after it is durable in SQL and before its caller is
// answered. The file is not synced, so a crash of the machine may cut off its end,
// but never its middle.
//
// A closure run by Update has no name; it is recorded as the changes it made. If a
// failed write made the store read its state again, and that differs from the state
// recorded so far, the whole state is written again.

// recordVersion is the version of the file format and of the random numbers that
// commands draw: a replay with other random numbers would make other changes.
const recordVersion = 3

// recordLine is one line: exactly one member is set.
type recordLine struct {
	State   *recordState   `json:"state,omitempty"`
	Row     *recordChange  `json:"row,omitempty"`
	Command *recordCommand `json:"command,omitempty"`
	End     *recordEnd     `json:"end,omitempty"`
}

// recordState begins a state; Rows lines with rows follow.
type recordState struct {
	Version int               `json:"version"`
	Cell    string            `json:"cell"`
	Seq     uint64            `json:"seq"`
	Logs    map[string]uint64 `json:"logs"`
	Rows    int               `json:"rows"`
}

// recordCommand is a command, or the changes of an unnamed closure.
type recordCommand struct {
	Seq     uint64         `json:"seq"`
	Time    time.Time      `json:"time"`
	Seed    seed           `json:"seed"`
	IDs     uint64         `json:"ids,string"`
	Actor   string         `json:"actor,omitempty"`
	Cause   jsontext.Value `json:"cause,omitempty"`
	Name    string         `json:"name,omitempty"`
	Args    jsontext.Value `json:"args,omitempty"`
	Changes []recordChange `json:"changes,omitempty"` // if Name is ""
	Digest  string         `json:"digest"`            // of the changes made
}

// recordChange is a change of one row, or an appended entry.
type recordChange struct {
	Kind string         `json:"kind"`
	In   string         `json:"in"` // table or log
	Key  string         `json:"key,omitempty"`
	Doc  jsontext.Value `json:"doc,omitempty"`
}

// recordEnd is the last line of a recording that was closed properly.
type recordEnd struct {
	Seq    uint64 `json:"seq"`
	Digest string `json:"digest"` // of the state
}

var kindNames = [...]string{changePut: "put", changeDelete: "delete", changeArchive: "archive", changeAppend: "append"}

// recorder writes committed commands to a file; a nil *recorder records nothing. Only
// the journal uses it. After its first error it writes nothing more.
type recorder struct {
	file *os.File
	out  *bufio.Writer
	cell string
	log  *slog.Logger
	seq  uint64 // of the state recorded so far
	err  error
}

// newRecorder begins a recording with a state; path "" means none.
func newRecorder(path, cell string, log *slog.Logger, sn *Snapshot) (*recorder, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin recording: %w", err)
	}
	r := &recorder{file: file, out: bufio.NewWriterSize(file, 1<<18), cell: cell, log: log}
	if err := r.writeState(sn); err != nil {
		return nil, errors.Join(fmt.Errorf("begin recording: %w", err), file.Close())
	}
	return r, nil
}

func (r *recorder) writeState(sn *Snapshot) error {
	state := &recordState{Version: recordVersion, Cell: r.cell, Seq: sn.seq, Logs: map[string]uint64{}}
	for i, l := range sn.catalog.logs {
		state.Logs[l.name()] = sn.last[i]
	}
	tables := sn.catalog.tablesByName()
	for _, t := range tables {
		state.Rows += t.count(sn)
	}
	if err := r.line(recordLine{State: state}); err != nil {
		return err
	}
	for _, t := range tables {
		err := t.each(sn, func(key string, doc []byte) error {
			return r.line(recordLine{Row: &recordChange{Kind: "put", In: t.name(), Key: key, Doc: doc}})
		})
		if err != nil {
			return err
		}
	}
	r.seq = sn.seq
	return r.out.Flush()
}

func (r *recorder) line(line recordLine) error {
	raw, err := json.Marshal(line, rowOptions())
	if err != nil {
		return err
	}
	r.out.Write(raw) // a bufio.Writer keeps its error for Flush
	return r.out.WriteByte('\n')
}

// write records the commands of a committed group.
func (r *recorder) write(g *group) {
	if r == nil || r.err != nil {
		return
	}
	for _, c := range g.commands {
		if c.seq != 0 {
			r.note(r.command(c))
		}
	}
	r.note(r.out.Flush())
	r.seq = g.sealed.seq
}

// note keeps the first error: a recording with a gap would mislead.
func (r *recorder) note(err error) {
	if err != nil && r.err == nil {
		r.err = err
		r.log.Error("recording ends here", "error", err)
	}
}

func (r *recorder) command(c *Tx) error {
	digest, changes, err := describe(c.changes)
	if err != nil {
		return err
	}
	line := &recordCommand{Seq: c.seq, Time: c.now, Seed: c.seed, IDs: c.idsFrom,
		Actor: c.call.actor, Cause: c.call.cause, Name: c.call.name, Args: c.call.args, Digest: digest}
	if line.Name == "" {
		line.Changes = changes
	}
	return r.line(recordLine{Command: line})
}

// describe returns a cheap digest of changes, and the changes in recorded form.
func describe(changes []change) (string, []recordChange, error) {
	h := fnv.New64a()
	out := make([]recordChange, len(changes))
	for i, ch := range changes {
		out[i] = recordChange{Kind: kindNames[ch.kind], In: ch.member.name(), Key: ch.key}
		if ch.kind == changePut || ch.kind == changeAppend {
			doc, err := ch.member.encode(ch.row)
			if err != nil {
				return "", nil, err
			}
			out[i].Doc = doc
		}
		for _, part := range []string{out[i].Kind, out[i].In, out[i].Key} {
			h.Write([]byte(part))
			h.Write([]byte{0})
		}
		h.Write(out[i].Doc)
		h.Write([]byte{0})
	}
	return fmt.Sprintf("%016x", h.Sum64()), out, nil
}

// resume continues after the state was read again, with the whole state if it differs.
func (r *recorder) resume(sn *Snapshot) {
	if r != nil && r.err == nil && r.seq != sn.seq {
		r.note(r.writeState(sn))
	}
}

// close writes the last line.
func (r *recorder) close(sn *Snapshot) error {
	if r == nil {
		return nil
	}
	if r.err == nil {
		r.note(r.line(recordLine{End: &recordEnd{Seq: sn.seq, Digest: sn.Digest()}}))
		r.note(r.out.Flush())
	}
	return errors.Join(r.err, r.file.Close())
}
