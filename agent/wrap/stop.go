package wrap

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/musterhq/muster/agent/gamequery"
)

// Stop is how a program is asked to end before it gets SIGTERM. Without a line or a command, it
// gets SIGTERM at once.
type Stop struct {
	Line     string        // written to its standard input, which is open until then
	RCON     string        // a command that is sent to it by Source RCON
	Port     string        // at which it takes RCON: a number, the name of a port, or "" for the game's
	Password string        // for RCON; default: a new one, which is the program's {{.RCONPassword}}
	Within   time.Duration // how long it may then take to end; default 10 s
}

// PasswordVariable is the environment variable with the RCON password of a program.
const PasswordVariable = "GAME_RCON_PASSWORD"

// asks reports whether there is anything to ask with.
func (s Stop) asks() bool { return s.Line != "" || s.RCON != "" }

// patience returns after how long a program that is killed within a time gets SIGTERM: so that it
// has a moment to obey that, too.
func (s Stop) patience(within time.Duration) time.Duration {
	return max(0, min(s.Within, max(within-lastMoment, within/2)))
}

// settle completes options, and checks what refers to ports.
func (o *Options) settle() error {
	o.Stop.Within = cmp.Or(o.Stop.Within, 10*time.Second)
	if o.Stop.RCON != "" {
		o.Stop.Password = cmp.Or(o.Stop.Password, rand.Text())
		port, err := o.port(o.Stop.Port)
		if err != nil {
			return fmt.Errorf("wrap: RCON: %w", err)
		}
		o.Stop.Port = port
	}
	if o.Query.Protocol == "" {
		return nil
	}
	port, err := o.port(o.Query.Port)
	if err != nil {
		return fmt.Errorf("wrap: query: %w", err)
	}
	o.Query.Port, o.Query.Host, o.Query.Every = port, cmp.Or(o.Query.Host, "127.0.0.1"), cmp.Or(o.Query.Every, 5*time.Second)
	return gamequery.Check(o.Query.Protocol)
}

// ask asks the program to end by its line and its command. If it cannot be asked, w.unasked receives.
func (w *wrapper) ask(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), max(within, time.Second))
	go func() {
		defer cancel()
		if err := w.askNow(ctx); err != nil {
			w.o.Log.Warn("the program was not asked to end by its stop command, and gets SIGTERM", "error", err)
			w.unasked <- struct{}{}
		}
	}()
}

func (w *wrapper) askNow(ctx context.Context) error {
	s := w.o.Stop
	if s.Line != "" {
		if _, err := fmt.Fprintln(w.stdin, s.Line); err != nil {
			return fmt.Errorf("write to its standard input: %w", err)
		}
	}
	if s.RCON == "" {
		return nil
	}
	_, err := gamequery.RCON(ctx, net.JoinHostPort("127.0.0.1", s.Port), s.Password, s.RCON)
	return err
}

// port returns the number of a port that is given as a number, as a name, or as "", which is the
// game's.
func (o *Options) port(text string) (string, error) {
	n, err := strconv.Atoi(text)
	switch {
	case text == "":
		n = o.Port
	case err != nil:
		if n = o.Ports[text]; n == 0 {
			return "", fmt.Errorf("%q is neither a number nor the name of a port; a name needs {{.Port.%[1]s}} in the parameters, or the variable %s", text, PortVariable(text))
		}
	}
	if n < 1 || n > 65535 {
		return "", fmt.Errorf("%d is no port", n)
	}
	return strconv.Itoa(n), nil
}
