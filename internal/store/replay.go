package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// ReplayReport is the outcome of a replay.
type ReplayReport struct {
	Commands   int         // run again, including the diverging one
	Seq        uint64      // of the state reached
	Digest     string      // of the state reached
	Ended      bool        // the recording was closed properly, and its end was reached
	Divergence *Divergence // the first difference, or nil
}

// Divergence is the point where a replay differs from its recording.
type Divergence struct {
	Seq     uint64 // of the command; at the end, of the state
	Command string // its name; "" for an unnamed one or for the end
	Reason  string
}

// errDiverged stops the reading of a recording.
var errDiverged = errors.New("the replay diverged")

// Replay opens s, whose driver must be a Memory, with the initial state of a
// recording and runs the recorded commands with their time, seed and actor. It
// compares the changes that each makes and stops at the first difference. Hooks are
// not run. Afterwards s is open at the state reached; the caller must close it. The
// error is about the recording, not about divergence.
func Replay(ctx context.Context, s *Store, r io.Reader) (ReplayReport, error) {
	if _, ok := s.opts.Driver.(*Memory); !ok {
		return ReplayReport{}, fmt.Errorf("replay: the store needs the memory driver")
	}
	if err := s.Open(ctx); err != nil {
		return ReplayReport{}, err
	}
	p := &replay{store: s, ctx: ctx}
	err := readRecording(r, p.take)
	if errors.Is(err, errDiverged) {
		err = nil
	}
	if err == nil && !p.began {
		err = fmt.Errorf("replay: the recording has no state to begin with")
	}
	sn := s.View()
	p.report.Seq, p.report.Digest = sn.Seq(), sn.Digest()
	return p.report, err
}

// readRecording parses the lines of a recording. A last line without a line end, as a
// crash leaves it, is ignored.
func readRecording(r io.Reader, take func(recordLine) error) error {
	in := bufio.NewReaderSize(r, 1<<18)
	for n := 1; ; n++ {
		raw, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read recording: %w", err)
		}
		var line recordLine
		if err := json.Unmarshal(raw, &line, rowOptions()); err != nil {
			return fmt.Errorf("recording, line %d: %w", n, err)
		}
		if err := take(line); err != nil {
			return fmt.Errorf("recording, line %d: %w", n, err)
		}
	}
}

// replay is one run of a recording.
type replay struct {
	store  *Store
	ctx    context.Context
	report ReplayReport
	began  bool

	state *recordState // being read
	items []Item       // its rows so far
}

func (p *replay) take(line recordLine) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	switch {
	case line.State != nil:
		return p.takeState(line.State)
	case line.Row != nil:
		return p.takeRow(*line.Row)
	case !p.began || p.state != nil:
		return fmt.Errorf("the state is not complete")
	case line.Command != nil:
		return p.takeCommand(*line.Command)
	case line.End != nil:
		return p.takeEnd(*line.End)
	}
	return fmt.Errorf("the line says nothing")
}

func (p *replay) takeState(state *recordState) error {
	if state.Version != recordVersion {
		return fmt.Errorf("recordings of form %d are not known; this program replays those of form %d", state.Version, recordVersion)
	}
	p.state, p.items = state, nil
	return p.install()
}

func (p *replay) takeRow(row recordChange) error {
	if p.state == nil {
		return fmt.Errorf("a row outside the state")
	}
	t := p.store.catalog.tableNamed(row.In)
	if t == nil {
		return fmt.Errorf("no table %q is registered", row.In)
	}
	columns, err := t.columnsOf(row.Doc)
	if err != nil {
		return err
	}
	p.items = append(p.items, Item{Place: Live, Number: t.ordinal(), Key: row.Key, Doc: row.Doc, Columns: columns})
	return p.install()
}

// install replaces the store's state with the one being read, once all its rows are
// there.
func (p *replay) install() error {
	if len(p.items) < p.state.Rows {
		return nil
	}
	s := p.store
	db, err := NewMemory().Open(p.ctx, s.opts.Cell, s.catalog.schema())
	if err != nil {
		return err
	}
	state := State{Last: make([]uint64, len(s.catalog.logs)), Fence: Fence{Owner: s.journal.fence.Owner, Epoch: 1, Seq: p.state.Seq}}
	for i, l := range s.catalog.logs {
		state.Last[i] = p.state.Logs[l.name()]
	}
	err = db.Fill(p.ctx, func(add func(Item) error) (State, error) {
		for _, it := range p.items {
			if err := add(it); err != nil {
				return State{}, err
			}
		}
		return state, nil
	})
	if err != nil {
		return err
	}
	p.state, p.items, p.began = nil, nil, true
	return p.moveTo(db)
}

// moveTo moves the store to another database; nothing may be in flight.
func (p *replay) moveTo(db DB) error {
	s := p.store
	sn, state, err := s.catalog.load(p.ctx, db)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db, s.journal.db, s.journal.fence = db, db, state.Fence
	s.head.adopt(sn)
	s.published.Store(sn)
	return nil
}

func (p *replay) takeCommand(c recordCommand) error {
	p.report.Commands++
	digest, err := p.rerun(c)
	switch {
	case err != nil:
		return p.diverge(c.Seq, c.Name, err.Error())
	case digest != c.Digest:
		return p.diverge(c.Seq, c.Name, fmt.Sprintf("its changes have digest %s, recorded was %s", digest, c.Digest))
	case p.store.View().Seq() != c.Seq:
		return p.diverge(c.Seq, c.Name, fmt.Sprintf("it led to sequence %d", p.store.View().Seq()))
	}
	return nil
}

func (p *replay) takeEnd(end recordEnd) error {
	sn := p.store.View()
	if sn.Seq() != end.Seq || sn.Digest() != end.Digest {
		return p.diverge(end.Seq, "", "the state at the end differs")
	}
	p.report.Ended = true
	return nil
}

func (p *replay) diverge(seq uint64, command, reason string) error {
	p.report.Divergence = &Divergence{Seq: seq, Command: command, Reason: reason}
	return errDiverged
}

// rerun runs a recorded command and waits for it.
func (p *replay) rerun(c recordCommand) (string, error) {
	g, digest, err := p.rerunOnHead(c)
	if err != nil {
		return "", err
	}
	<-g.answer
	return digest, g.err
}

func (p *replay) rerunOnHead(c recordCommand) (*group, string, error) {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admit(p.ctx); err != nil {
		return nil, "", err
	}
	s.head.ids = c.IDs
	tx := &Tx{store: s, call: call{name: c.Name, args: c.Args, actor: c.Actor, cause: c.Cause}, now: c.Time, seed: c.Seed, idsFrom: c.IDs}
	run := func(tx *Tx) error { return p.again(tx, c) }
	if c.Name != "" { // an unnamed command is recorded with all its changes
		run = s.attested(c.Cause, run)
	}
	if err := tx.run(run); err != nil {
		return nil, "", err
	}
	if len(tx.changes) == 0 {
		return nil, "", fmt.Errorf("it changed nothing")
	}
	tx.hooks = nil
	digest, _, err := describe(tx.changes)
	if err != nil {
		return nil, "", err
	}
	return s.join(tx), digest, nil
}

// again repeats what the command did.
func (p *replay) again(tx *Tx, c recordCommand) error {
	if c.Name == "" {
		return p.redo(tx, c.Changes)
	}
	run := p.store.catalog.commands[c.Name]
	if run == nil {
		return fmt.Errorf("no command %q is registered", c.Name)
	}
	return run(tx, c.Args)
}

func (p *replay) redo(tx *Tx, changes []recordChange) error {
	for _, ch := range changes {
		m := p.store.catalog.memberNamed(ch.In)
		if m == nil {
			return fmt.Errorf("no table or log %q is registered", ch.In)
		}
		if err := m.redo(tx, ch); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) redo(tx *Tx, ch recordChange) error {
	switch ch.Kind {
	case "put":
		row, err := t.decode(ch.Doc)
		if err != nil {
			return fmt.Errorf("decode %s %q: %w", t.label, ch.Key, err)
		}
		t.put(tx, row)
	case "delete":
		t.remove(tx, ch.Key, changeDelete)
	case "archive":
		t.archive(tx, ch.Key)
	default:
		return fmt.Errorf("table %s knows no change %q", t.label, ch.Kind)
	}
	return nil
}

func (l *log) redo(tx *Tx, ch recordChange) error {
	v, err := l.decode(ch.Doc)
	if err != nil {
		return fmt.Errorf("decode %s: %w", l.label, err)
	}
	l.append(tx, v)
	return nil
}
