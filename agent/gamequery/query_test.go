package gamequery

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/internal/wait"
)

// Answers of A2S_INFO with 7 players of 16, of which 3 are bots.
const (
	sourceAnswer = "\xff\xff\xff\xffI\x11Friday\x00de_dust2\x00cstrike\x00Counter-Strike\x00\xf0\x00\x07\x10\x03dl\x00\x011.38\x00\xb1\x87\x69"
	goldAnswer   = "\xff\xff\xff\xffm127.0.0.1:27015\x00Friday\x00crossfire\x00valve\x00Half-Life\x00\x07\x10\x2fdl\x00\x01info\x00get\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x01\x00\x03"
)

// gamers answers questions as game servers do: the datagram in, the datagrams out.
var gamers = map[string]func(q string) []string{
	"a2s": func(q string) []string {
		const challenge = "\x0b\xad\xf0\x0d"
		switch q {
		case string(sourceAsk):
			return []string{"\xff\xff\xff\xffA" + challenge}
		case string(sourceAsk) + challenge:
			return []string{sourceAnswer}
		}
		return nil
	},
	"a2s without a challenge": func(q string) []string { return []string{sourceAnswer} },
	"a2s of GoldSource":       func(q string) []string { return []string{goldAnswer} },
	"quake3": func(q string) []string {
		challenge, _ := strings.CutPrefix(q, "\xff\xff\xff\xffgetinfo ")
		return []string{"\xff\xff\xff\xffinfoResponse\n\\challenge\\" + challenge + "\\clients\\7\\g_humanplayers\\4\\sv_maxclients\\16"}
	},
	"quake3 of DarkPlaces": func(q string) []string {
		return []string{"\xff\xff\xff\xffinfoResponse\n\\clients\\7\\bots\\3\\sv_maxclients\\16\x00"}
	},
	"quake3 by its list": func(q string) []string {
		challenge, status := strings.CutPrefix(q, "\xff\xff\xff\xffgetstatus ")
		if !status {
			return []string{"\xff\xff\xff\xffinfoResponse\n\\sv_maxclients\\16"}
		}
		return []string{"\xff\xff\xff\xffstatusResponse\n\\sv_maxclients\\16\\challenge\\" + challenge + "\n5 48 \"ana\"\n0 0 \"ben\"\n-1 9 \"a \\ b\"\n2 1 \"\"\n"}
	},
	"gamespy": func(q string) []string {
		return []string{`\gamename\ut\maxplayers\16\queryid\7.1`, `\numplayers\4\final\\queryid\7.2`}
	},
	"gamespy by its list": func(q string) []string {
		return []string{`\maxplayers\16\player_0\ana\player_1\ben\queryid\7.1`, `\player_2\cleo\player_3\dan\final\\queryid\7.2`}
	},
	"gamespy3": func(q string) []string {
		head, id := q[:3], q[3:7]
		switch {
		case head == "\xfe\xfd\x09":
			return []string{"\x09" + id + "-1234567\x00"}
		case head == "\xfe\xfd\x00" && q[7:11] == "\xff\xed\x29\x79": // -1234567
			return []string{"\x00" + id + "splitnum\x00\x80\x00hostname\x00Friday\x00numplayers\x004\x00maxplayers\x0016\x00\x00\x01player_\x00\x00ana\x00ben\x00\x00"}
		}
		return nil
	},
}

// host answers as one of gamers, after a datagram of somebody else's protocol.
func host(t *testing.T, answers func(string) []string) (address string) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, a := range append([]string{"nonsense"}, answers(string(buf[:n]))...) {
				conn.WriteTo([]byte(a), from) // the question is repeated otherwise
			}
		}
	}()
	return conn.LocalAddr().String()
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	t.Cleanup(cancel)
	return ctx
}

// In each protocol, and each form of it, the number of people is what is said.
func TestAsk(t *testing.T) {
	t.Parallel()
	for name, answers := range gamers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocol, _, _ := strings.Cut(name, " ")
			a, err := Ask(within(t), protocol, host(t, answers))
			if want := (Answer{Players: 4, MaxPlayers: 16}); err != nil || a != want {
				t.Errorf("the answer is %+v, %v; want %+v", a, err, want)
			}
		})
	}
}

// A game server that never comes to an end is given up.
func TestAsk_Hostile(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]func(string) []string{
		"a2s, challenges":   func(string) []string { return []string{"\xff\xff\xff\xffAabcd"} },
		"a2s, short":        func(string) []string { return []string{sourceAnswer[:40]} },
		"quake3, many":      func(string) []string { return []string{"\xff\xff\xff\xffinfoResponse\n\\clients\\99999999999"} },
		"quake3, negative":  func(string) []string { return []string{"\xff\xff\xff\xffinfoResponse\n\\clients\\-1"} },
		"quake3, another's": func(string) []string { return []string{"\xff\xff\xff\xffinfoResponse\n\\challenge\\x\\clients\\1"} },
		"gamespy, endless":  func(string) []string { return []string{`\a\b`, `\a\b`, `\a\b`} },
		"gamespy3, another's": func(string) []string {
			return []string{"\x09abcd1\x00", "\x00abcdnumplayers\x001\x00"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocol, _, _ := strings.Cut(name, ",")
			address := host(t, func(q string) (all []string) {
				for range maxDatagrams {
					all = append(all, answers(q)...)
				}
				return all
			})
			if a, err := Ask(within(t), protocol, address); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the answer is %+v, %v", a, err)
			}
		})
	}
}

// Nobody answers: the question ends with its context.
func TestAsk_Silence(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	address := host(t, func(string) []string { cancel(); return nil })
	if a, err := Ask(ctx, "a2s", address); err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("the answer is %+v, %v", a, err)
	}
	if _, err := Ask(t.Context(), "a2c", address); err == nil || !strings.Contains(err.Error(), "a2s, gamespy, gamespy3, quake3") {
		t.Errorf("an unknown protocol: %v", err)
	}
}

// What any game server may answer of A2S_INFO is read as it was meant, whatever its texts are.
func TestSourceInfo_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.ReplaceAll(rapid.StringN(0, 20, 60).Draw(t, "text"), "\x00", "")
		})
		n := rapid.Byte()
		players, bots, most := n.Draw(t, "players"), n.Draw(t, "bots"), n.Draw(t, "most")
		b := []byte("\xff\xff\xff\xffI\x11")
		for range 4 {
			b = append(append(b, text.Draw(t, "name")...), 0)
		}
		b = append(b, 1, 2, players, most, bots)
		a, _, err := (&a2s{}).next(b)
		if want := max(int(players)-int(bots), 0); err != nil || a.Players != want || a.MaxPlayers != int(most) {
			t.Fatalf("%+v, %v; want %d of %d", a, err, want, most)
		}
		if a, _, err := (&a2s{}).next(b[:len(b)-1]); err == nil {
			t.Fatalf("cut off it is %+v", a)
		}
	})
}

// Whatever a game server answers: no panic, an answer in its range or an error, never both, and a
// next question of bounded length.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{
		sourceAnswer, goldAnswer, "\xff\xff\xff\xffAabcd", "\xff\xff\xff\xffinfoResponse\n\\clients\\7\\sv_maxclients\\16", "\xff\xff\xff\xffstatusResponse\n\\a\\b\n1 2 \"x\"\n",
		`\numplayers\4\final\`, `\player_0\x\final\\queryid\1.1`, "\x09\x00\x00\x00\x0012\x00", "\x00\x00\x00\x00\x00numplayers\x004\x00",
	} {
		f.Add([]byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		exchanges := []exchange{&a2s{}, &quake3{}, &gamespy{}, &gamespy3{id: make([]byte, 4)}}
		for _, x := range exchanges {
			x.first()
			for _, datagram := range [][]byte{first, second} {
				a, send, err := x.next(datagram)
				switch {
				case a != nil && (err != nil || send != nil), err != nil && send != nil:
					t.Fatalf("%T: %+v, %q and %v at once", x, a, send, err)
				case err != nil && !errors.Is(err, errForm):
					t.Fatalf("%T: %v", x, err)
				case a != nil && (a.Players < 0 || a.Players > Most || a.MaxPlayers < 0 || a.MaxPlayers > Most):
					t.Fatalf("%T: %+v", x, a)
				case len(send) > 64:
					t.Fatalf("%T asks with %d bytes", x, len(send))
				}
			}
		}
	})
}

// FuzzReadRCON: a packet is an error, or one that is written as it was read.
func FuzzReadRCON(f *testing.F) {
	f.Add([]byte("\x0a\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readRCON(strings.NewReader(string(b)))
		if err != nil {
			return
		}
		if len(p.body) > maxRCON {
			t.Fatalf("a body of %d bytes", len(p.body))
		}
		if len(p.body) > maxRCON-minRCON {
			return // it did not end with the zero bytes
		}
		var again strings.Builder
		if err := writeRCON(&again, p.id, p.kind, p.body); err != nil {
			t.Fatal(err)
		}
		if q, err := readRCON(strings.NewReader(again.String())); err != nil || q != p {
			t.Fatalf("%+v became %+v, %v", p, q, err)
		}
	})
}

// rconServer is a game server with Source RCON, which answers every command with itself, and closes
// the connection on "quit".
func rconServer(t *testing.T, password string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	serve := func(conn net.Conn) error {
		defer conn.Close()
		p, err := readRCON(conn)
		if err != nil || p.kind != rconAuth {
			return fmt.Errorf("%+v, %w", p, err)
		}
		id := p.id
		if p.body != password {
			id = -1
		}
		if err := errors.Join(writeRCON(conn, p.id, rconResponse, ""), writeRCON(conn, id, rconExec, "")); err != nil {
			return err
		}
		if p, err = readRCON(conn); err != nil || p.kind != rconExec || p.body == "quit" {
			return err
		}
		return writeRCON(conn, p.id, rconResponse, "did "+p.body)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn) // what went wrong, the client sees
		}
	}()
	return l.Addr().String()
}

func TestRCON(t *testing.T) {
	t.Parallel()
	at := rconServer(t, "secret")
	if answer, err := RCON(within(t), at, "secret", "status"); err != nil || answer != "did status" {
		t.Errorf("status: %q, %v", answer, err)
	}
	if answer, err := RCON(within(t), at, "secret", "quit"); err != nil || answer != "" {
		t.Errorf("quit: %q, %v", answer, err)
	}
	if _, err := RCON(within(t), at, "wrong", "quit"); !errors.Is(err, ErrPassword) {
		t.Errorf("with a wrong password: %v", err)
	}
	if _, err := RCON(within(t), at, "secret", strings.Repeat("x", maxRCON)); err == nil {
		t.Error("a command of more than a packet is sent")
	}
}

// A packet larger than RCON has is refused before it is read.
func TestReadRCON_Large(t *testing.T) {
	t.Parallel()
	head := binary.LittleEndian.AppendUint32(nil, 1<<31)
	if _, err := readRCON(strings.NewReader(string(head))); !errors.Is(err, errForm) {
		t.Errorf("a packet of 2 GiB: %v", err)
	}
}
