package server

import (
	"io"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/examples/arena/wire"
)

// bench is a room with a clock set by the test.
type bench struct {
	t    *testing.T
	room *room
	now  time.Time
	key  uint64
}

func newBench(t *testing.T, opts Options) *bench {
	b := &bench{t: t, now: time.Unix(1000, 0)}
	opts.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	b.room = newRoom(opts.withDefaults(), b.now, func() uint64 { b.key++; return b.key })
	return b
}

func address(n uint16) peer {
	return peer{addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), n)}
}

// effects is what the room decided since the last call, without snapshots.
type effects struct {
	out            []packet
	accept, remove []string
}

func (b *bench) take() effects {
	r := b.room
	out := slices.DeleteFunc(r.out, func(p packet) bool { _, ok := p.message.(wire.Snapshot); return ok })
	e := effects{out, r.accept, r.remove}
	r.out, r.accept, r.remove = nil, nil, nil
	return e
}

func (b *bench) receive(from uint16, m wire.Message) effects {
	b.room.receive(b.now, address(from), m)
	return b.take()
}

// enter admits a player and returns its Welcome.
func (b *bench) enter(from uint16, session string) wire.Welcome {
	b.t.Helper()
	b.receive(from, wire.Join{PlayerSessionID: session})
	b.room.accepted(b.now, session, admitted)
	e := b.take()
	welcome, ok := e.out[0].message.(wire.Welcome)
	if !ok || len(e.out) != 1 {
		b.t.Fatalf("got %+v, want one Welcome", e)
	}
	return welcome
}

func (b *bench) want(got, want effects) {
	b.t.Helper()
	if len(got.out) == 0 {
		got.out = nil
	}
	if !reflect.DeepEqual(got, want) {
		b.t.Errorf("got %+v, want %+v", got, want)
	}
}

func refusal(to uint16, why wire.Refusal) []packet {
	return []packet{{address(to), wire.Refused{Reason: why}}}
}

func TestJoin_LetsInOnlyWhatTheServiceAccepts(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.want(b.receive(1, wire.Join{PlayerSessionID: "good"}), effects{accept: []string{"good"}})
	b.want(b.receive(1, wire.Join{PlayerSessionID: "good"}), effects{})
	b.room.accepted(b.now, "good", admitted)
	welcome := effects{out: []packet{{address(1), wire.Welcome{Key: 1, Player: 1, TicksASecond: 20, Width: 1000, Height: 1000}}}}
	b.want(b.take(), welcome)
	b.want(b.receive(1, wire.Join{PlayerSessionID: "good"}), welcome)

	b.want(b.receive(2, wire.Join{PlayerSessionID: "forged"}), effects{accept: []string{"forged"}})
	b.room.accepted(b.now, "forged", rejected)
	b.want(b.take(), effects{out: refusal(2, wire.RefusedSession)})
	b.want(b.receive(2, wire.Join{PlayerSessionID: "forged"}), effects{out: refusal(2, wire.RefusedSession)})
	if n := len(b.room.state.Players); n != 1 {
		t.Errorf("got %d players in the game, want 1", n)
	}
}

func TestJoin_RefusesReuse(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	welcome := b.enter(1, "one")
	b.want(b.receive(2, wire.Join{PlayerSessionID: "one"}), effects{out: refusal(2, wire.RefusedSession)})
	b.want(b.receive(1, wire.Join{PlayerSessionID: "two"}), effects{out: refusal(1, wire.RefusedSession)})
	b.receive(1, wire.Leave{Key: welcome.Key})
	b.want(b.receive(1, wire.Join{PlayerSessionID: "one"}), effects{accept: []string{"one"}})
}

func TestJoin_AsksAgainAfterAnUnansweredCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.receive(1, wire.Join{PlayerSessionID: "one"})
	b.room.accepted(b.now, "one", unanswered)
	b.want(b.take(), effects{})
	b.want(b.receive(1, wire.Join{PlayerSessionID: "one"}), effects{accept: []string{"one"}})
}

func TestJoin_KeepsToTheSeats(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Seats: 1})
	b.receive(1, wire.Join{PlayerSessionID: "one"})
	b.receive(2, wire.Join{PlayerSessionID: "two"})
	b.room.accepted(b.now, "one", admitted)
	b.take()
	b.room.accepted(b.now, "two", admitted)
	b.want(b.take(), effects{out: refusal(2, wire.RefusedFull), remove: []string{"two"}})
	b.want(b.receive(3, wire.Join{PlayerSessionID: "three"}), effects{out: refusal(3, wire.RefusedFull)})
}

func TestJoin_BoundsCallsInFlight(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	asked := 0
	for n := range uint16(100) {
		asked += len(b.receive(n+1, wire.Join{PlayerSessionID: string(rune('a' + n))}).accept)
	}
	if asked != maxAsking {
		t.Errorf("got %d calls in flight, want %d", asked, maxAsking)
	}
}

func TestInput_NeedsTheKeyAndIsNewest(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	key := b.enter(1, "one").Key
	cases := []struct {
		name string
		from uint16
		in   wire.Input
		want wire.Direction
	}{
		{"first", 1, wire.Input{Key: key, Sequence: 5, Move: 3}, 3},
		{"wrong key", 1, wire.Input{Key: key + 1, Sequence: 6, Move: 4}, 3},
		{"other address", 2, wire.Input{Key: key, Sequence: 6, Move: 4}, 3},
		{"older", 1, wire.Input{Key: key, Sequence: 4, Move: 4}, 3},
		{"newer", 1, wire.Input{Key: key, Sequence: 6, Move: 4}, 4},
	}
	for _, c := range cases {
		b.receive(c.from, c.in)
		if got := wire.Direction(b.room.at[address(1)].wish.Move); got != c.want {
			t.Errorf("%s: player goes %d, want %d", c.name, got, c.want)
		}
	}
}

func TestLeave_TellsTheServiceOnceAndRepeatsTheAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	key := b.enter(1, "one").Key
	over := []packet{{address(1), wire.Over{Reason: wire.OverLeft, Scores: []wire.Score{{Player: 1}}}}}
	b.want(b.receive(1, wire.Leave{Key: key + 1}), effects{})
	b.want(b.receive(1, wire.Leave{Key: key}), effects{out: over, remove: []string{"one"}})
	b.want(b.receive(1, wire.Leave{Key: key}), effects{out: over})
	b.want(b.receive(2, wire.Leave{Key: key}), effects{})
}

func TestTick_DropsTheSilent(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{SilentFor: 5 * time.Second})
	b.enter(1, "quiet")
	key := b.enter(2, "lively").Key
	b.now = b.now.Add(4 * time.Second)
	b.receive(2, wire.Input{Key: key, Sequence: 1})
	b.room.tick(b.now)
	b.want(b.take(), effects{})
	b.now = b.now.Add(time.Second)
	b.room.tick(b.now)
	e := b.take()
	if over, ok := e.out[0].message.(wire.Over); !ok || over.Reason != wire.OverSilent || !slices.Equal(e.remove, []string{"quiet"}) {
		t.Errorf("got %+v, want the quiet one told and removed", e)
	}
}

func TestTick_EndsTheSession(t *testing.T) {
	t.Parallel()
	opts := Options{WaitFor: 60 * time.Second, EmptyFor: 2 * time.Second, SilentFor: time.Hour}
	timed := opts
	timed.MatchFor = 10 * time.Second
	cases := []struct {
		name    string
		opts    Options
		prepare func(*bench)
		after   time.Duration
		want    End
	}{
		{"nobody came", opts, func(*bench) {}, 60 * time.Second, EndNobodyCame},
		{"one is being asked for", opts, func(b *bench) { b.receive(1, wire.Join{PlayerSessionID: "one"}) }, 61 * time.Second, ""},
		{"one plays", opts, func(b *bench) { b.enter(1, "one") }, 61 * time.Second, ""},
		{"all left a moment ago", opts, func(b *bench) { b.receive(1, wire.Leave{Key: b.enter(1, "one").Key}) }, time.Second, ""},
		{"all left", opts, func(b *bench) { b.receive(1, wire.Leave{Key: b.enter(1, "one").Key}) }, 2 * time.Second, EndEmpty},
		{"time is up", timed, func(b *bench) { b.enter(1, "one") }, 10 * time.Second, EndFinished},
	}
	for _, c := range cases {
		b := newBench(t, c.opts)
		c.prepare(b)
		ended := b.room.tick(b.now.Add(c.after))
		if got := b.room.result.End; got != c.want || ended != (c.want != "") {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, ended, c.want)
		}
	}
}

func TestClose_TellsEveryPlayerThreeTimes(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.enter(1, "one")
	b.enter(2, "two")
	b.room.close(EndTerminating)
	told := map[peer]int{}
	for _, p := range b.take().out {
		if over, ok := p.message.(wire.Over); ok && over.Reason == wire.OverTerminating {
			told[p.to]++
		}
	}
	if told[address(1)] != 3 || told[address(2)] != 3 {
		t.Errorf("got %v, want each told three times", told)
	}
}

func TestFormers_ForgetTheOldest(t *testing.T) {
	t.Parallel()
	f := formers{limit: 2, answers: map[former]wire.Message{}}
	who := func(n uint16) former { return former{address: address(n), session: "x"} }
	for n := range uint16(3) {
		f.keep(who(n), wire.Refused{})
		f.keep(who(n), wire.Refused{})
	}
	if f.answers[who(0)] != nil || f.answers[who(1)] == nil || f.answers[who(2)] == nil || len(f.answers) != 2 {
		t.Errorf("got %v, want the newest two", f.order)
	}
}
