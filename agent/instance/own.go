package instance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/musterhq/muster/agent/jail"
	"github.com/musterhq/muster/agent/supervise"
	"github.com/musterhq/muster/hosts/protocol"
)

// Own is an instance with a program on this machine: a developer's own server, or that
// of the demo. Its processes connect as a compute that is registered for them.
type Own struct {
	Desired protocol.Desired // InstanceID, FleetID, Compute, SDKURL, AuthToken, Ports; Runtime.Processes[0].Concurrent
	Dir     string           // working directory
	Path    string           // of the program; absolute
	Args    []string         // {port} is replaced with the port
	Port    int              // for the program; 0 picks one from Desired's range
	Clean   bool             // with a fleet's environment and parameters, instead of the agent's and Args
	Out     io.Writer        // gets a copy of its output; may be nil
	Jailer  *jail.Jailer     // isolates its processes; nil: nothing does

	Token   func() (string, error) // returns the auth token of each launch
	OnStart func(protocol.Process) // called after each start; may be nil
	// OnEnd is called after each end; cause is a sentence that says how and, if known, why. May be nil.
	OnEnd func(processID string, e supervise.Exit, cause string)

	mu sync.Mutex // guards Out
}

func (o *Own) arguments(p placeholders) []string {
	values := []string{"{port}", strconv.Itoa(p.port), "{{.GamePort}}", strconv.Itoa(p.port)}
	for name, port := range p.named {
		values = append(values, "{{.Port."+name+"}}", strconv.Itoa(port))
	}
	replacer, args := strings.NewReplacer(values...), make([]string, len(o.Args))
	for n, arg := range o.Args {
		args[n] = replacer.Replace(arg)
	}
	return args
}

// follow starts copying the output of a process to Out; of a process that was taken over,
// only new output.
func (o *Own) follow(r supervise.Run) {
	if o.Out == nil {
		return
	}
	for _, path := range []string{r.Stdout, r.Stderr} {
		go o.tail(path, r)
	}
}

// glance is how often a file is checked for new output.
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

// alive reports whether a process with the id exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return runtime.GOOS == "windows" || p.Signal(syscall.Signal(0)) == nil
}
