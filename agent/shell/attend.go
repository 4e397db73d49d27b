package shell

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/hosts/shell"
)

// Program is a program that something else than this process runs, such as a container
// engine.
type Program interface {
	io.Writer // its input
	CloseInput() error
	Outputs() map[protocol.ShellOp]io.Reader // which end with io.EOF
	Resize(protocol.ShellSize)
	Signal(name string)
	Kill()                       // ends the program and what it has started
	Wait() (code int, err error) // waits until the program has ended
	Close()                      // ends the outputs
}

// lastOutput limits how long the output of a program is awaited that has ended.
const lastOutput = 2 * time.Second

// Attend connects a program to a client until the program ends, and returns how. It ends the
// program when ctx ends or the client goes. The program has a terminal or not.
func Attend(ctx context.Context, st *shell.Stream, p Program, terminal bool, control <-chan protocol.ShellFrame) protocol.ShellEnd {
	defer p.Close()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(leaving, st.Close)
	})()
	var copying sync.WaitGroup
	for op, from := range p.Outputs() {
		copying.Go(func() {
			if err := st.Copy(op, from); err != nil {
				io.Copy(io.Discard, from) // the client has gone; the program must not wait for it
			}
		})
	}
	go passInput(st, p, terminal)
	end, ended := protocol.ShellEnd{}, make(chan struct{})
	go func() {
		defer close(ended)
		code, err := p.Wait()
		end.Code = min(max(code, 0), 255)
		if err != nil {
			end = Refused(err.Error())
		}
	}()
	for {
		select {
		case f := <-control:
			switch f.Op {
			case protocol.ShellResize:
				p.Resize(f.Size())
			case protocol.ShellSignal:
				p.Signal(string(f.Payload))
			}
			continue
		case <-ctx.Done():
			p.Kill()
			<-ended
		case <-ended:
		}
		break
	}
	p.Kill() // what it has left behind
	late := time.AfterFunc(lastOutput, p.Close)
	copying.Wait()
	late.Stop()
	return end
}

// passInput passes the client's input to a program until there is no more. Input that the
// program does not take is dropped.
func passInput(st *shell.Stream, p Program, terminal bool) {
	for {
		f, ok := st.Next()
		switch {
		case !ok:
			return
		case f.Op == protocol.ShellInput:
			_, _ = p.Write(f.Payload)
			st.Used(f)
		case f.Op == protocol.ShellEOF && terminal:
			_, _ = p.Write([]byte{endOfFile})
		case f.Op == protocol.ShellEOF:
			_ = p.CloseInput()
		}
	}
}

// leaving is how long a client has to read what is under way when its shell is ended.
const leaving = 5 * time.Second

// endOfFile is the character with which people end the input of a terminal, ^D.
const endOfFile = 4
