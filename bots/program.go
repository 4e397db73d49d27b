package bots

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Program is a running program that plays a game: a client of the game without a
// screen. It reads orders as lines of JSON from its standard input, answers with lines
// of JSON on its standard output, and plays for any number of bots concurrently. It ends
// when its standard input does. docs/libraries.md describes the lines.
type Program struct {
	command *exec.Cmd
	ended   chan struct{} // closed when err is set

	mu    sync.Mutex
	in    io.WriteCloser
	last  int
	games map[int]chan answer // nil once the program has ended
	err   error               // why it ended
}

// order is a line to the program: to play, or to leave.
type order struct {
	Bot             int    `json:"bot"`
	Address         string `json:"address,omitempty"`
	PlayerSessionID string `json:"player_session_id,omitempty"`
	PlayMS          int64  `json:"play_ms,omitempty"`
	ActMS           int64  `json:"act_ms,omitempty"`
	SilentMS        int64  `json:"silent_ms,omitempty"`
	ProgressMS      int64  `json:"progress_ms,omitempty"`
	Seed            uint64 `json:"seed,omitempty"`
	Leave           bool   `json:"leave,omitempty"`
}

// answer is a line from the program. The states are joined, progress, and one of the
// Endings, which is the last.
type answer struct {
	Bot      int    `json:"bot"`
	State    string `json:"state"`
	Progress int    `json:"progress"`
	Reason   string `json:"reason"`
}

// Ending is how a bot's game ended.
type Ending string

// The endings.
const (
	Played     Ending = "played"     // to the bot's own end, or the game's
	Refused    Ending = "refused"    // the game server did not admit the bot
	Unanswered Ending = "unanswered" // the game server never answered
	Lost       Ending = "lost"       // the game server fell silent during the game
	Broken     Ending = "failed"     // the program could not play
)

// Game is one bot's game.
type Game struct {
	Address         string        // host:port of the game server
	PlayerSessionID string        // reserved for this bot
	For             time.Duration // how long to play; 0: until the game ends
	ActEvery        time.Duration // between inputs; 0: as the program likes
	SilentFor       time.Duration // how long the game server may send nothing; 0: as the program likes
	Seed            uint64        // of the bot's random decisions
	Joined          func()        // if set, is called once when the bot is admitted
	// Progress, if set, is called a few times a second during the game with a number
	// that rises as long as the game server is heard.
	Progress func(int)
}

// progressEvery is the interval of Game.Progress.
const progressEvery = 100 * time.Millisecond

// errEnded is the error of a program that has ended as it should.
var errEnded = errors.New("the game's program has ended")

// leaveGame limits how long a bot may take to leave.
const leaveGame = 5 * time.Second

// StartProgram starts a game's program. It ends with Close, or when ctx ends.
func StartProgram(ctx context.Context, path string) (*Program, error) {
	cmd := exec.CommandContext(ctx, path, "bots")
	cmd.Stderr, cmd.WaitDelay = os.Stderr, leaveGame
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel = in.Close // its bots leave
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the game's program: %w", err)
	}
	p := &Program{command: cmd, in: in, games: map[int]chan answer{}, ended: make(chan struct{})}
	go p.read(out)
	return p, nil
}

// Close ends the program, and waits until it has ended. Its bots leave their games.
func (p *Program) Close() error {
	p.in.Close()
	<-p.ended
	if errors.Is(p.err, errEnded) {
		return nil
	}
	return p.err
}

// read passes answers to their games until the program ends.
func (p *Program) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	var bad error
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			bad = fmt.Errorf("the game's program wrote %.100q, which is no answer: %w", lines.Text(), err)
			_ = p.command.Process.Kill()
			break
		}
		p.pass(a)
	}
	_, _ = io.Copy(io.Discard, out) // until it ends: a full pipe would block it
	err := p.command.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case bad != nil:
		p.err = bad
	case lines.Err() != nil:
		p.err = fmt.Errorf("read from the game's program: %w", lines.Err())
	case err != nil:
		p.err = fmt.Errorf("the game's program ended: %w", err)
	default:
		p.err = errEnded
	}
	for _, game := range p.games {
		close(game)
	}
	p.games = nil
	close(p.ended)
}

// pass sends an answer to its game, which buffers a few. Reports of progress are
// dropped while more than half of the buffer is full.
func (p *Program) pass(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	game, ok := p.games[a.Bot]
	if !ok {
		return
	}
	if a.State == "progress" && len(game) > cap(game)/2 {
		return
	}
	select {
	case game <- a:
	default: // the program repeats itself
	}
}

// send writes an order. The caller must hold mu.
func (p *Program) send(o order) error {
	if p.games == nil {
		return p.err
	}
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to the game's program: %w", err)
	}
	return nil
}

// Play plays one game and returns how it ended, and why if it was not played. When ctx
// is canceled, the bot leaves. The error is not nil if the program has ended.
func (p *Program) Play(ctx context.Context, g Game) (Ending, string, error) {
	o := order{
		Address: g.Address, PlayerSessionID: g.PlayerSessionID, Seed: g.Seed,
		PlayMS: g.For.Milliseconds(), ActMS: g.ActEvery.Milliseconds(), SilentMS: g.SilentFor.Milliseconds(),
	}
	if g.Progress != nil {
		o.ProgressMS = progressEvery.Milliseconds()
	}
	bot, answers, err := p.begin(o)
	if err != nil {
		return "", "", err
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.games, bot)
	}()
	var late <-chan time.Time
	leave := ctx.Done()
	for {
		select {
		case <-leave:
			leave, late = nil, time.After(leaveGame)
			p.mu.Lock()
			err := p.send(order{Bot: bot, Leave: true})
			p.mu.Unlock()
			if err != nil {
				return "", "", err
			}
		case <-late:
			return Broken, fmt.Sprintf("the game's program did not leave within %v", leaveGame), nil
		case a, ok := <-answers:
			if !ok {
				return "", "", p.err
			}
			if ending, ended := g.hear(a); ended {
				return ending, a.Reason, nil
			}
		}
	}
}

// hear acts on an answer. It returns true, and how the game ended, if the game is over.
func (g Game) hear(a answer) (Ending, bool) {
	switch {
	case a.State == "joined" && g.Joined != nil:
		g.Joined()
	case a.State == "progress" && g.Progress != nil:
		g.Progress(a.Progress)
	case a.State == "joined" || a.State == "progress":
	default:
		return Ending(a.State), true
	}
	return "", false
}

// begin assigns a number to a bot and sends its order.
func (p *Program) begin(o order) (bot int, answers <-chan answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	o.Bot = p.last
	if err := p.send(o); err != nil {
		return 0, nil, err
	}
	game := make(chan answer, 8)
	p.games[o.Bot] = game
	return o.Bot, game, nil
}
