package gamequery

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
)

// gamespy asks \status\, whose answer may be of several datagrams.
type gamespy struct{ values map[string]string }

func (x *gamespy) first() []byte { return []byte(`\status\`) }

func (x *gamespy) next(datagram []byte) (*Answer, []byte, error) {
	if len(datagram) == 0 || datagram[0] != '\\' {
		return nil, nil, malformed("it does not begin with a backslash")
	}
	if x.values == nil {
		x.values = map[string]string{}
	}
	maps.Copy(x.values, backslashed(string(datagram)))
	most, err := number(x.values, "maxplayers")
	if err != nil {
		return nil, nil, err
	}
	if _, ok := x.values["numplayers"]; ok {
		players, err := number(x.values, "numplayers")
		if err != nil {
			return nil, nil, err
		}
		a, err := people(players, 0, most)
		return a, nil, err
	}
	if _, last := x.values["final"]; !last {
		return nil, nil, nil
	}
	players := 0
	for key := range x.values {
		if n, ok := strings.CutPrefix(key, "player_"); ok && n != "" {
			players++
		}
	}
	a, err := people(players, 0, most)
	return a, nil, err
}

// gamespy3 asks for a challenge, and then for all values.
type gamespy3 struct {
	id         []byte
	challenged bool
}

func newGamespy3() *gamespy3 {
	// Minecraft keeps four bits of each byte.
	return &gamespy3{id: binary.BigEndian.AppendUint32(nil, rand.Uint32()&0x0f0f0f0f)}
}

func (x *gamespy3) first() []byte { return append([]byte("\xfe\xfd\x09"), x.id...) }

func (x *gamespy3) next(datagram []byte) (*Answer, []byte, error) {
	if len(datagram) < 5 || !bytes.Equal(datagram[1:5], x.id) {
		return nil, nil, malformed("it answers another question")
	}
	rest := datagram[5:]
	switch datagram[0] {
	case 9:
		text, _, ok := bytes.Cut(rest, []byte{0})
		n, err := strconv.ParseInt(string(text), 10, 64)
		if !ok || err != nil || n < -1<<31 || n >= 1<<32 || x.challenged {
			return nil, nil, malformed("%.20q is no challenge", text)
		}
		x.challenged = true
		ask := append([]byte("\xfe\xfd\x00"), x.id...)
		ask = binary.BigEndian.AppendUint32(ask, uint32(n))
		return nil, append(ask, "\xff\xff\xff\x01"...), nil
	case 0:
		a, err := zeroed(rest)
		return a, nil, err
	}
	return nil, nil, malformed("%d is no kind of answer of GameSpy 3", datagram[0])
}

// zeroed reads the values of key, zero byte, value, zero byte. What stands before them differs
// between games, so keys are looked for wherever they are.
func zeroed(b []byte) (*Answer, error) {
	words := strings.Split(string(b), "\x00")
	values := map[string]string{}
	for n, word := range words[:len(words)-1] {
		if key := strings.ToLower(word); key == "numplayers" || key == "maxplayers" {
			if _, twice := values[key]; !twice {
				values[key] = words[n+1]
			}
		}
	}
	if _, ok := values["numplayers"]; !ok {
		return nil, malformed("it has no numplayers")
	}
	players, err := number(values, "numplayers")
	if err != nil {
		return nil, err
	}
	most, err := number(values, "maxplayers")
	if err != nil {
		return nil, err
	}
	return people(players, 0, most)
}
