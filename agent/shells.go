package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/shell"
	"github.com/musterhq/muster/hosts/protocol"
	stream "github.com/musterhq/muster/hosts/shell"
)

// ShellPolicy says which remote shells this machine runs in its instances.
type ShellPolicy string

// The policies.
const (
	NoShells       ShellPolicy = ""         // none
	IsolatedShells ShellPolicy = "isolated" // those that are isolated from the machine and from other instances
	AnyShells      ShellPolicy = "as-agent" // also those that run as the agent's user, unless that is root
)

// Bounds of remote shells.
const (
	maxShells     = 8
	shellStarting = 20 * time.Second // from the connection to the first frame
	shellLeaving  = 5 * time.Second  // until Muster has read the end
)

// shellOffer returns whether this machine runs remote shells. Isolation has been
// determined.
func (o *Options) shellOffer(j *jail.Jailer) *protocol.ShellOffer {
	refuse := func(format string, args ...any) *protocol.ShellOffer {
		return &protocol.ShellOffer{Why: fmt.Sprintf(format, args...)}
	}
	if o.Shells == NoShells {
		return refuse("its agent was not started with --allow-shells")
	}
	if !shell.Supported {
		return refuse("agents run remote shells on Linux only")
	}
	lack := j.Separate()
	switch {
	case lack == nil:
		return &protocol.ShellOffer{Offered: true}
	case o.Shells != AnyShells:
		return refuse("%v; run its agent as root with --isolation required, or, to have shells run as the agent's user, with --allow-shells as-agent", lack)
	case os.Geteuid() == 0 && !j.HasUsers():
		return refuse("%v, and its agent runs as root, as whom no shell is opened; run it with --isolation required, or as another user", lack)
	}
	return &protocol.ShellOffer{Offered: true}
}

// containerShellOffer returns whether this machine runs remote shells in containers, which
// the engine isolates.
func (o *Options) containerShellOffer() *protocol.ShellOffer {
	switch {
	case o.Shells == NoShells:
		return &protocol.ShellOffer{Why: "its agent was not started with --allow-shells"}
	case !shell.Supported:
		return &protocol.ShellOffer{Why: "agents run remote shells on Linux only"}
	}
	return &protocol.ShellOffer{Offered: true}
}

func isOffered(o *protocol.ShellOffer) bool { return o != nil && o.Offered }

// shells runs the remote shells that Muster requests.
type shells struct {
	server    *server
	instances *instances
	facts     *protocol.Facts
	places    chan struct{} // one for each shell that may be open
	work      sync.WaitGroup
	log       *slog.Logger
}

// begin runs a shell until ctx ends, in another goroutine.
func (s *shells) begin(ctx context.Context, want protocol.Shell) {
	s.work.Go(func() {
		if err := s.open(ctx, want); err != nil {
			s.log.Warn("no remote shell", "error", err)
		}
	})
}

// open connects to Muster for a shell, and runs it until ctx ends.
func (s *shells) open(ctx context.Context, want protocol.Shell) error {
	if !instance.ValidID(want.ID) {
		return fmt.Errorf("a remote shell has the id %q", want.ID)
	}
	ws, _, err := s.server.Dial(ctx, protocol.PathShells+want.ID)
	if err != nil {
		return fmt.Errorf("connect for a remote shell: %w", err)
	}
	defer ws.Close()
	defer context.AfterFunc(ctx, func() { ws.Close() })()
	s.serve(ctx, want, ws)
	return nil
}

// serve runs a shell on its connection.
func (s *shells) serve(ctx context.Context, want protocol.Shell, ws *websocket.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st := stream.New(ws)
	control := make(chan protocol.ShellFrame)
	read := make(chan struct{})
	go func() {
		defer close(read)
		_ = st.Run(func(f protocol.ShellFrame) error {
			select {
			case control <- f:
			case <-ctx.Done():
			}
			return nil
		})
		cancel() // without a client the program ends
	}()
	end := s.run(ctx, want, st, control)
	cancel()
	if st.Send(end.Frame()) == nil {
		select { // Muster closes the connection when it has read the end
		case <-read:
		case <-time.After(shellLeaving):
		}
	}
	st.Close()
	<-read
}

// run runs what the first frame asks for, if this machine allows it.
func (s *shells) run(ctx context.Context, want protocol.Shell, st *stream.Stream, control <-chan protocol.ShellFrame) protocol.ShellEnd {
	late := time.AfterFunc(shellStarting, st.Close)
	first, ok := st.Next()
	if !late.Stop() || !ok {
		return shell.Refused("no command came")
	}
	command, err := first.Command()
	if err != nil {
		return shell.Refused(err.Error())
	}
	if !isOffered(s.facts.Shells) && !isOffered(s.facts.ContainerShells) {
		return shell.Refused("this host refuses remote shells")
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		return shell.Refused(fmt.Sprintf("the host has %d remote shells open, which is the limit", maxShells))
	}
	i := s.instances.find(want.InstanceID)
	if i == nil {
		return shell.Refused("the instance is not on this host any more")
	}
	if of, ok := i.(*group.Instance); ok {
		if !isOffered(s.facts.ContainerShells) {
			return shell.Refused("this host refuses remote shells in containers")
		}
		return of.Shell(ctx, want.Compute, st, command, control)
	}
	of, ok := i.(*instance.Instance)
	if !ok || !isOffered(s.facts.Shells) {
		return shell.Refused("this host refuses remote shells in instances of builds")
	}
	if command.Container != "" {
		return shell.Refused("this compute has no containers; leave out --container")
	}
	if i.IsOwn() || want.Compute != i.Desired().Compute {
		return shell.Refused("this compute offers no remote shells")
	}
	return of.Shell(ctx, want.ID, st, command, control)
}
