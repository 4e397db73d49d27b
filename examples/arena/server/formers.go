package server

import "github.com/musterhq/muster/examples/arena/wire"

// formers keeps the last answers to clients that were refused or have left, so that a
// lost answer is repeated without asking the hosting service. It keeps the newest
// only.
type formers struct {
	limit   int
	order   []former // oldest first
	answers map[former]wire.Message
}

// former is a client that was refused (session set) or has left (key set).
type former struct {
	address peer
	session string
	key     uint64
}

func (f *formers) keep(who former, answer wire.Message) {
	if f.answers[who] == nil {
		f.order = append(f.order, who)
	}
	f.answers[who] = answer
	if len(f.order) > f.limit {
		delete(f.answers, f.order[0])
		f.order = f.order[1:]
	}
}
