package gameserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/serversdk/protocol"
)

// RefusedError is an answer whose status is not 200.
type RefusedError struct {
	Action  protocol.Action
	Status  int
	Message string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Action, e.Status, e.Message)
}

func isBroken(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	return err != nil && !refused
}

// Ready sends ProcessReady, and the first heartbeat that AWS's SDKs send after it.
func (p *Process) Ready(ctx context.Context) error {
	_, err := p.Call(ctx, protocol.ActivateServerProcess, map[string]any{
		"SdkVersion": "5.4.0", "SdkLanguage": "Go", "Port": p.opts.Port, "LogPaths": []string{},
	})
	if err != nil {
		return err
	}
	return p.Heartbeat(ctx, Healthy)
}

// Health is the health that a process reports.
type Health bool

// The two values of Health.
const (
	Healthy   Health = true
	Unhealthy Health = false
)

// Heartbeat reports the process's health.
func (p *Process) Heartbeat(ctx context.Context, h Health) error {
	_, err := p.Call(ctx, protocol.HeartbeatServerProcess, map[string]any{"HealthStatus": bool(h)})
	return err
}

// Activate sends ActivateGameSession.
func (p *Process) Activate(ctx context.Context, gameSessionID string) error {
	_, err := p.Call(ctx, protocol.ActivateGameSession, map[string]any{"GameSessionId": gameSessionID})
	return err
}

// Accept sends AcceptPlayerSession, which admits a player with a reservation.
func (p *Process) Accept(ctx context.Context, gameSessionID, playerSessionID string) error {
	_, err := p.Call(ctx, protocol.AcceptPlayerSession, map[string]any{"GameSessionId": gameSessionID, "PlayerSessionId": playerSessionID})
	return err
}

// Remove sends RemovePlayerSession: the player has left.
func (p *Process) Remove(ctx context.Context, gameSessionID, playerSessionID string) error {
	_, err := p.Call(ctx, protocol.RemovePlayerSession, map[string]any{"GameSessionId": gameSessionID, "PlayerSessionId": playerSessionID})
	return err
}

// SetPolicy sends UpdatePlayerSessionCreationPolicy.
func (p *Process) SetPolicy(ctx context.Context, gameSessionID, policy string) error {
	_, err := p.Call(ctx, protocol.UpdatePlayerSessionCreationPolicy, map[string]any{"GameSessionId": gameSessionID, "PlayerSessionPolicy": policy})
	return err
}

// End sends ProcessEnding, and ends the process.
func (p *Process) End(ctx context.Context) error {
	_, err := p.Call(ctx, protocol.TerminateServerProcess, nil)
	p.Kill()
	return err
}

// Call sends a request, waits for its answer and returns the frame received. Errors:
// *RefusedError, ErrDisconnected, those of ctx.
func (p *Process) Call(ctx context.Context, action protocol.Action, members map[string]any) ([]byte, error) {
	id := uuid.NewString()
	request := map[string]any{"Action": action, "RequestId": id}
	for name, value := range members {
		request[name] = value
	}
	frame, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	answer, err := p.Frame(ctx, id, frame)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%s: %w", action, err)
	}
	return answer, err
}

// Frame is Call for a request that is sent unchanged; id is its RequestId.
func (p *Process) Frame(ctx context.Context, id string, frame []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	defer cancel()
	wait := make(chan answer, 1)
	if err := p.send(id, frame, wait); err != nil {
		return nil, err
	}
	defer p.forget(id)
	select {
	case a, ok := <-wait:
		return result(a, ok)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func result(a answer, ok bool) ([]byte, error) {
	switch {
	case !ok:
		return nil, ErrDisconnected
	case a.StatusCode != protocol.StatusOK:
		return a.frame, &RefusedError{a.Action, a.StatusCode, a.ErrorMessage}
	}
	return a.frame, nil
}

func (p *Process) send(id string, frame []byte, wait chan answer) error {
	p.mu.Lock()
	conn := p.conn
	if conn != nil {
		p.waiting[id] = wait
	}
	p.mu.Unlock()
	if conn == nil {
		return ErrDisconnected
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := conn.SetWriteDeadline(time.Now().Add(p.opts.Timeout)); err != nil {
		return err
	}
	if err := conn.WriteMessage(websocket.TextMessage, frame); err != nil {
		p.forget(id)
		return fmt.Errorf("%w: %v", ErrDisconnected, err)
	}
	return nil
}

func (p *Process) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}
