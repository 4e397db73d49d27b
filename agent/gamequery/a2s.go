package gamequery

import (
	"bytes"
	"slices"
)

// a2s asks A2S_INFO, again with the challenge if the game server wants one.
type a2s struct{ challenged int }

var (
	single    = []byte("\xff\xff\xff\xff")
	sourceAsk = []byte("\xff\xff\xff\xffTSource Engine Query\x00")
)

func (x *a2s) first() []byte { return sourceAsk }

// maxChallenges is how many new challenges a game server may send before it has answered.
const maxChallenges = 3

func (x *a2s) next(datagram []byte) (*Answer, []byte, error) {
	body, ok := bytes.CutPrefix(datagram, single)
	if !ok || len(body) == 0 {
		return nil, nil, malformed("it does not begin as an answer of one datagram")
	}
	switch kind, rest := body[0], body[1:]; kind {
	case 'A':
		if x.challenged++; len(rest) < 4 || x.challenged > maxChallenges {
			return nil, nil, malformed("its challenge is too short, or one too many")
		}
		return nil, slices.Concat(sourceAsk, rest[:4]), nil
	case 'I':
		a, err := sourceInfo(rest)
		return a, nil, err
	case 'm':
		a, err := goldInfo(rest)
		return a, nil, err
	}
	return nil, nil, malformed("%q is no kind of A2S_INFO", body[0])
}

// sourceInfo reads the answer of the Source engine.
func sourceInfo(b []byte) (*Answer, error) {
	r := reader{rest: b}
	r.bytes(1)            // protocol
	r.texts(4)            // name, map, folder, game
	r.bytes(2)            // number of the app
	numbers := r.bytes(3) // players, the most, bots
	if r.short {
		return nil, malformed("it ends too early")
	}
	return people(int(numbers[0]), int(numbers[2]), int(numbers[1]))
}

// goldInfo reads the answer of GoldSource before 2008.
func goldInfo(b []byte) (*Answer, error) {
	r := reader{rest: b}
	r.texts(5) // address, name, map, folder, game
	numbers := r.bytes(2)
	r.bytes(4) // protocol, type, system, password
	if mod := r.bytes(1); !r.short && mod[0] == 1 {
		r.texts(2)
		r.bytes(1 + 4 + 4 + 1 + 1)
	}
	end := r.bytes(2) // secured, bots
	if r.short {
		return nil, malformed("it ends too early")
	}
	return people(int(numbers[0]), int(end[1]), int(numbers[1]))
}

// reader reads members of a datagram from its beginning. Once something is missing, short is set.
type reader struct {
	rest  []byte
	short bool
}

// bytes returns the next n bytes.
func (r *reader) bytes(n int) []byte {
	if r.short = r.short || len(r.rest) < n; r.short {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// texts skips n texts that end with a zero byte.
func (r *reader) texts(n int) {
	for range n {
		_, rest, ok := bytes.Cut(r.rest, []byte{0})
		if r.short = r.short || !ok; r.short {
			return
		}
		r.rest = rest
	}
}
