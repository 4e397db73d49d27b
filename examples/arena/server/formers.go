package server

import (
	"net/netip"

	"github.com/musterhq/muster/examples/arena/wire"
)

// formers keeps the last answers to clients that were refused or have left, so that a
// lost answer is repeated without asking the hosting service. It keeps the newest
// only.
type formers struct {
	limit   int
	order   []former // oldest first
	answers map[former]wire.Over
}

// former is a client that was refused (session set) or has left (key set).
type former struct {
	address netip.AddrPort
	session string
	key     uint64
}

func newFormers(limit int) *formers {
	return &formers{limit: limit, answers: map[former]wire.Over{}}
}

func (f *formers) refuse(address netip.AddrPort, session string) {
	f.keep(former{address: address, session: session}, wire.Over{})
}

func (f *formers) refused(address netip.AddrPort, session string) bool {
	_, ok := f.answers[former{address: address, session: session}]
	return ok
}

func (f *formers) leave(address netip.AddrPort, key uint64, over wire.Over) {
	f.keep(former{address: address, key: key}, over)
}

func (f *formers) over(address netip.AddrPort, key uint64) (wire.Over, bool) {
	over, ok := f.answers[former{address: address, key: key}]
	return over, ok && over.Reason != 0
}

func (f *formers) keep(who former, over wire.Over) {
	if _, known := f.answers[who]; !known {
		f.order = append(f.order, who)
	}
	f.answers[who] = over
	if len(f.order) > f.limit {
		delete(f.answers, f.order[0])
		f.order = f.order[1:]
	}
}
