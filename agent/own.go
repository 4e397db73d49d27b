package agent

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
)

// Own is an instance with a program that lies on this machine: a developer's
// own server, or the one of the demo. Its processes connect as those of a
// compute that was registered for them.
type Own struct {
	Wish  protocol.Wish // InstanceID, FleetID, Compute, SDKURL, AuthToken, Ports; Runtime.Processes[0].Concurrent
	Dir   string        // working directory
	Path  string        // of the program; absolute
	Args  []string      // {port} stands for the port
	Port  int           // that the program gets; 0 picks one of the wish's range
	Clean bool          // it gets the environment and parameters of a fleet, not ours and Args
	Out   io.Writer     // where its output is shown as well; may be nil

	Token   func() (string, error)                   // makes the auth token of each launch
	OnStart func(protocol.Process)                   // follows each start; may be nil
	OnEnd   func(processID string, e supervise.Exit) // follows each end; may be nil

	mu sync.Mutex // guards Out
}

func (o *Own) arguments(port int) []string {
	args := make([]string, len(o.Args))
	for n, arg := range o.Args {
		args[n] = strings.ReplaceAll(arg, "{port}", strconv.Itoa(port))
	}
	return args
}

func (o *Own) ended(processID string, e supervise.Exit) {
	if o.OnEnd != nil {
		o.OnEnd(processID, e)
	}
}

// startOwn begins the instances of this machine.
func (a *Agent) startOwn() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.opts.Own {
		i := newInstance(a, o.Wish, o)
		i.resumed = i.resume()
		a.begin(i)
	}
}

// follow shows what a process writes from now on.
func (o *Own) follow(r supervise.Run) {
	if o.Out == nil {
		return
	}
	for _, path := range []string{r.Stdout, r.Stderr} {
		go o.tail(path, r)
	}
}

// glance is how often a file is looked at for what is new.
const glance = 50 * time.Millisecond

// tail copies a file's lines until its process has been gone for a moment.
func (o *Own) tail(path string, r supervise.Run) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	if r.Attached {
		if _, err := file.Seek(0, io.SeekEnd); err != nil {
			return
		}
	}
	in := bufio.NewReader(file)
	var line string
	for over := false; ; {
		part, err := in.ReadString('\n')
		line += part
		if err == nil || over && line != "" {
			o.print(strings.TrimSuffix(line, "\n"))
			line = ""
			continue
		}
		if over {
			return
		}
		over = !alive(r.PID)
		time.Sleep(glance)
	}
}

func (o *Own) print(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintln(o.Out, line)
}

// Runs tells whether a process of an instance runs here.
func (a *Agent) Runs(instanceID, processID string) bool {
	i := a.find(instanceID)
	if i == nil {
		return false
	}
	for _, s := range i.list() {
		if p := i.processOf(s); p != nil && p.ProcessID == processID {
			return true
		}
	}
	return false
}

// Kill ends a process of an instance, as Muster's own Kill does.
func (a *Agent) Kill(k protocol.Kill) {
	if i := a.find(k.InstanceID); i != nil {
		i.kill(k)
	}
}
