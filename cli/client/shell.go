package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/hosts/shell"
)

// ComputeAccess returns credentials for remote access to a compute of a fleet: those for
// the Client with which Shell is called.
func (c *Client) ComputeAccess(ctx context.Context, fleet, compute string) (Credentials, error) {
	var answer Access
	err := c.Call(ctx, "GetComputeAccess", map[string]string{"FleetId": fleet, "ComputeName": compute}, &answer)
	if err != nil {
		return Credentials{}, err
	}
	return answer.credentials()
}

// Access is an answer of GetComputeAccess or of GetInstanceAccess.
type Access struct {
	Credentials struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		SessionToken    string
	}
	InstanceAccess struct {
		Credentials struct{ UserName, Secret string }
	}
}

// ParseAccess returns the credentials in an answer, as AWS's CLI prints it.
func ParseAccess(text []byte) (Credentials, error) {
	var answer Access
	if err := json.Unmarshal(text, &answer); err != nil {
		return Credentials{}, fmt.Errorf("it is no answer of GetComputeAccess or GetInstanceAccess: %w", err)
	}
	return answer.credentials()
}

func (a *Access) credentials() (Credentials, error) {
	k := Credentials{AccessKeyID: a.Credentials.AccessKeyID, SecretAccessKey: a.Credentials.SecretAccessKey, SessionToken: a.Credentials.SessionToken}
	if user := a.InstanceAccess.Credentials; k.AccessKeyID == "" {
		k.AccessKeyID = user.UserName
		k.SecretAccessKey, k.SessionToken, _ = strings.Cut(user.Secret, ".")
	}
	if k.AccessKeyID == "" || k.SecretAccessKey == "" || k.SessionToken == "" {
		return Credentials{}, errors.New("it has no credentials of GetComputeAccess or GetInstanceAccess")
	}
	return k, nil
}

// IsAccess reports whether credentials are for remote access to one compute.
func IsAccess(k Credentials) bool {
	_, ok := auth.ParseAccess(k.AccessKeyID, k.SessionToken)
	return ok
}

// IsAccessTo reports whether credentials are for the fleet and the compute that the texts stand
// for: ids, ARNs, or parts of ids.
func IsAccessTo(k Credentials, fleet, compute string) bool {
	g, _ := auth.ParseAccess(k.AccessKeyID, k.SessionToken)
	is := func(text, id string) bool { return strings.HasSuffix(text, id) || abbreviates(text, id) }
	return is(fleet, g.FleetID) && is(compute, g.ComputeName)
}

// Shell is a program to run in an instance, and what it is connected to.
type Shell struct {
	protocol.ShellCommand
	In       io.Reader // nil: there is no input
	Out, Err io.Writer // required
	Sizes    <-chan protocol.ShellSize
	Signals  <-chan string // names such as INT
}

// Shell runs a program in the instance that the Client's credentials are for, and returns
// how it ended, or an error if the connection broke. If the server refuses, that is an
// *Error.
func (c *Client) Shell(ctx context.Context, of Shell) (protocol.ShellEnd, error) {
	first, err := of.Frame()
	if err != nil {
		return protocol.ShellEnd{}, err
	}
	ws, err := c.dialShell(ctx)
	if err != nil {
		return protocol.ShellEnd{}, err
	}
	defer ws.Close()
	defer context.AfterFunc(ctx, func() { ws.Close() })()
	st := shell.New(ws)
	if err := st.Send(first); err != nil {
		return protocol.ShellEnd{}, err
	}
	broke := make(chan error, 1)
	go func() {
		broke <- st.Run(func(protocol.ShellFrame) error { return errors.New("the host sends frames of a client") })
	}()
	over := make(chan struct{})
	defer close(over)
	go of.send(st, over)
	end, err := of.receive(st)
	st.Close()
	if cause := <-broke; err != nil && ctx.Err() == nil {
		err = fmt.Errorf("the connection broke: %w", cause)
	}
	return end, errors.Join(err, ctx.Err())
}

// send sends input, sizes and signals until the shell is over.
func (s *Shell) send(st *shell.Stream, over <-chan struct{}) {
	go func() {
		if s.In != nil && st.Copy(protocol.ShellInput, s.In) != nil {
			return
		}
		_ = st.Send(protocol.ShellFrame{Op: protocol.ShellEOF})
	}()
	for {
		select {
		case size := <-s.Sizes:
			_ = st.Send(size.Frame()) // a broken connection ends Run
		case name := <-s.Signals:
			_ = st.Send(protocol.ShellFrame{Op: protocol.ShellSignal, Payload: []byte(name)})
		case <-over:
			return
		}
	}
}

// receive writes output until the last frame, which says how the shell ended.
func (s *Shell) receive(st *shell.Stream) (protocol.ShellEnd, error) {
	for {
		f, ok := st.Next()
		if !ok {
			return protocol.ShellEnd{}, shell.ErrOver
		}
		to := s.Out
		switch f.Op {
		case protocol.ShellExit:
			return f.End()
		case protocol.ShellErrors:
			to = s.Err
		case protocol.ShellOutput:
		default:
			return protocol.ShellEnd{}, errors.New("the host sends frames of a client")
		}
		if _, err := to.Write(f.Payload); err != nil {
			return protocol.ShellEnd{}, err
		}
		st.Used(f)
	}
}

// dialShell opens the WebSocket of a shell, signed with the credentials.
func (c *Client) dialShell(ctx context.Context) (*websocket.Conn, error) {
	url := strings.TrimRight(c.Endpoint, "/") + protocol.PathShell
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if err := c.sign(r, nil, time.Now()); err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{HandshakeTimeout: 20 * time.Second, Proxy: http.ProxyFromEnvironment}
	if c.HTTP != nil {
		if t, ok := c.HTTP.Transport.(*http.Transport); ok {
			dialer.TLSClientConfig = t.TLSClientConfig
		}
	}
	header := http.Header{}
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
		if value := r.Header.Get(name); value != "" {
			header.Set(name, value)
		}
	}
	ws, answer, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(url, "http"), header)
	if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		defer answer.Body.Close()
		return nil, refusal(answer)
	}
	return ws, err
}
