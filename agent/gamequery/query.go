package gamequery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Answer is what a game server says of itself.
type Answer struct {
	Players    int // people who play, without bots if the answer counts them apart; 0 to Most
	MaxPlayers int // 0 to Most; 0 if it does not say
}

// Most is the highest number of players that an answer may have.
const Most = 65535

// Limits of what is read for one question.
const (
	maxDatagram  = 16 << 10
	maxDatagrams = 16
)

// repeat is after how long an unanswered datagram is sent again.
const repeat = 500 * time.Millisecond

// exchange is a question in one protocol: what to send first, and what becomes of each datagram
// that comes.
type exchange interface {
	first() []byte
	// next reads a datagram. It returns an answer, or what to send next, or neither if more
	// datagrams are to come. The error of a datagram that is none of the protocol wraps errForm.
	next(datagram []byte) (a *Answer, send []byte, err error)
}

// errForm means that a datagram does not have the form that its protocol wants.
var errForm = errors.New("the answer does not have the protocol's form")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errForm}, args...)...)
}

var protocols = map[string]func() exchange{
	"a2s":      func() exchange { return &a2s{} },
	"quake3":   func() exchange { return newQuake3() },
	"gamespy":  func() exchange { return &gamespy{} },
	"gamespy3": func() exchange { return newGamespy3() },
}

// Protocols returns the names of the protocols in order.
func Protocols() []string {
	names := make([]string, 0, len(protocols))
	for name := range protocols {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Check returns an error if there is no protocol with a name.
func Check(protocol string) error {
	if protocols[protocol] == nil {
		return fmt.Errorf("%q is no query protocol; there are %s", protocol, strings.Join(Protocols(), ", "))
	}
	return nil
}

// Ask asks the game server at an address (HOST:PORT, UDP) in a protocol, until ctx ends.
// Errors: an unknown protocol, an answer without the protocol's form, or none before ctx ended.
func Ask(ctx context.Context, protocol, address string) (Answer, error) {
	if err := Check(protocol); err != nil {
		return Answer{}, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", address)
	if err != nil {
		return Answer{}, fmt.Errorf("query: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	a, err := converse(ctx, conn, protocols[protocol]())
	if err != nil {
		return Answer{}, fmt.Errorf("query %s by %s: %w", address, protocol, err)
	}
	return a, nil
}

// converse exchanges datagrams until there is an answer.
func converse(ctx context.Context, conn net.Conn, x exchange) (Answer, error) {
	send, due, buf := x.first(), true, make([]byte, maxDatagram)
	var wrong error
	for read := 0; read < maxDatagrams; {
		if due {
			if _, err := conn.Write(send); err != nil {
				return Answer{}, err
			}
		}
		n, err := receive(ctx, conn, buf)
		if ctx.Err() != nil {
			return Answer{}, errors.Join(wrong, errors.New("no answer in time"))
		}
		if due = errors.Is(err, errAgain); due {
			continue
		}
		if err != nil {
			return Answer{}, err
		}
		read++
		a, reply, err := x.next(buf[:n])
		switch {
		case err != nil:
			wrong = err // it may be a late answer to something else
		case a != nil:
			return *a, nil
		case reply != nil:
			send, due = reply, true
		}
	}
	return Answer{}, errors.Join(wrong, fmt.Errorf("%d datagrams without an answer among them", maxDatagrams))
}

// errAgain means that nothing came for a while.
var errAgain = errors.New("nothing came")

func receive(ctx context.Context, conn net.Conn, buf []byte) (int, error) {
	if err := conn.SetReadDeadline(time.Now().Add(repeat)); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	n, err := conn.Read(buf)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return 0, errAgain
	}
	return n, err
}

// people returns the number of players without bots, or an error if a number is out of range.
func people(players, bots, most int) (*Answer, error) {
	for _, n := range []int{players, bots, most} {
		if n < 0 || n > Most {
			return nil, malformed("%d is no number of players", n)
		}
	}
	return &Answer{Players: max(players-bots, 0), MaxPlayers: most}, nil
}
