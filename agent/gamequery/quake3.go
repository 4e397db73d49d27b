package gamequery

import (
	"crypto/rand"
	"strconv"
	"strings"
)

// quake3 asks getinfo, which may say how many players are people, and where that has no number
// getstatus, which lists them.
type quake3 struct{ challenge string }

func newQuake3() *quake3 { return &quake3{challenge: rand.Text()[:12]} }

func (x *quake3) first() []byte { return []byte("\xff\xff\xff\xffgetinfo " + x.challenge) }

func (x *quake3) next(datagram []byte) (*Answer, []byte, error) {
	body, ok := strings.CutPrefix(string(datagram), string(single))
	kind, rest, lined := strings.Cut(body, "\n")
	if !ok || !lined {
		return nil, nil, malformed("it does not begin as an answer of Quake III")
	}
	info, list, _ := strings.Cut(rest, "\n")
	values := backslashed(info)
	if c, ok := values["challenge"]; ok && c != x.challenge {
		return nil, nil, malformed("it answers another question")
	}
	switch strings.TrimSpace(kind) {
	case "infoResponse":
		return x.info(values)
	case "statusResponse":
		a, err := listed(values, list)
		return a, nil, err
	}
	return nil, nil, malformed("%.40q is no kind of answer of Quake III", kind)
}

// info reads the answer to getinfo.
func (x *quake3) info(values map[string]string) (*Answer, []byte, error) {
	most, err := number(values, "sv_maxclients")
	if err != nil {
		return nil, nil, err
	}
	if _, ok := values["g_humanplayers"]; ok { // ioquake3
		humans, err := number(values, "g_humanplayers")
		if err != nil {
			return nil, nil, err
		}
		a, err := people(humans, 0, most)
		return a, nil, err
	}
	if _, ok := values["clients"]; !ok {
		return nil, []byte("\xff\xff\xff\xffgetstatus " + x.challenge), nil
	}
	clients, err := number(values, "clients")
	if err != nil {
		return nil, nil, err
	}
	bots, err := number(values, "bots") // DarkPlaces
	if err != nil {
		return nil, nil, err
	}
	a, err := people(clients, bots, most)
	return a, nil, err
}

// listed reads the answer to getstatus: a line for each player.
func listed(values map[string]string, list string) (*Answer, error) {
	most, err := number(values, "sv_maxclients")
	if err != nil {
		return nil, err
	}
	players := 0
	for line := range strings.Lines(list) {
		if strings.TrimRight(line, "\n\x00") != "" {
			players++
		}
	}
	return people(players, 0, most)
}

// backslashed returns the values of \key\value\key\value, by key in lower case. The first of
// several values of a key counts.
func backslashed(text string) map[string]string {
	words := strings.Split(strings.TrimPrefix(strings.TrimRight(text, "\x00"), `\`), `\`)
	values := make(map[string]string, len(words)/2)
	for n := 0; n+1 < len(words); n += 2 {
		key := strings.ToLower(words[n])
		if _, twice := values[key]; !twice {
			values[key] = words[n+1]
		}
	}
	return values
}

// number returns a value as a number of players; 0 if it is not there.
func number(values map[string]string, key string) (int, error) {
	text, ok := values[key]
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > Most {
		return 0, malformed("%s: %.20q is no number of players", key, text)
	}
	return n, nil
}
