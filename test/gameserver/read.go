package gameserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/serversdk/protocol"
)

// answer is a response frame.
type answer struct {
	Action       protocol.Action
	RequestID    string `json:"RequestId"`
	StatusCode   int
	ErrorMessage string
	frame        []byte
}

// readAll reads a connection until it breaks.
func (p *Process) readAll(conn *websocket.Conn) error {
	for {
		kind, frame, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		if kind != websocket.TextMessage {
			return fmt.Errorf("a frame of kind %d, not text", kind)
		}
		if err := p.take(frame); err != nil {
			return err
		}
	}
}

// take delivers a frame to the call that waits for it.
func (p *Process) take(frame []byte) error {
	var a answer
	if err := json.Unmarshal(frame, &a); err != nil {
		return fmt.Errorf("frame %s: %w", frame, err)
	}
	if a.RequestID == "" {
		return p.push(a.Action, frame)
	}
	a.frame = frame
	p.mu.Lock()
	wait := p.waiting[a.RequestID]
	delete(p.waiting, a.RequestID)
	p.mu.Unlock()
	if wait != nil {
		wait <- a // has room for one
	}
	return nil
}

// push handles a message that Muster sends unprompted.
func (p *Process) push(action protocol.Action, frame []byte) error {
	switch action {
	case protocol.CreateGameSession:
		var start protocol.CreateGameSessionPush
		if err := json.Unmarshal(frame, &start); err != nil {
			return fmt.Errorf("push %s: %w", frame, err)
		}
		p.host(start)
	case protocol.UpdateGameSession:
		var update protocol.UpdateGameSessionPush
		if err := json.Unmarshal(frame, &update); err != nil {
			return fmt.Errorf("push %s: %w", frame, err)
		}
		p.updated <- update
	case protocol.TerminateProcess:
		var end protocol.TerminateProcessPush
		if err := json.Unmarshal(frame, &end); err != nil {
			return fmt.Errorf("push %s: %w", frame, err)
		}
		p.terminate <- end
		if !p.opts.Manual {
			go p.End(p.ctx)
		}
	}
	return nil
}

// host takes a game session over, and activates it unless the test does.
func (p *Process) host(start protocol.CreateGameSessionPush) {
	p.mu.Lock()
	p.hosted = append(p.hosted, start.GameSessionID)
	p.mu.Unlock()
	p.started <- start
	if !p.opts.Manual {
		go p.activate(start.GameSessionID)
	}
}

// activate repeats ActivateGameSession until it has an answer, because the connection
// may break.
func (p *Process) activate(gameSessionID string) {
	for p.ctx.Err() == nil {
		err := p.Activate(p.ctx, gameSessionID)
		if err == nil {
			p.activated <- gameSessionID
			return
		}
		if !isBroken(err) {
			p.opts.Logger.Debug("not activated", "process", p.opts.ProcessID, "game_session", gameSessionID, "error", err)
			return
		}
		p.pause()
	}
}

// pause waits for Retry.
func (p *Process) pause() {
	ctx, cancel := context.WithTimeout(p.ctx, p.opts.Retry)
	defer cancel()
	<-ctx.Done()
}
