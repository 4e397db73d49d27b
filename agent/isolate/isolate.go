package isolate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"time"
)

// Limits limits the resources of a group; zero members are unlimited.
type Limits struct {
	MemoryMiB int
	CPUMillis int // thousandths of a processor
	Processes int // including threads
}

// Jail restricts a process. Zero members do not restrict it. All members except
// Filter need root.
type Jail struct {
	Group *Group `json:"-"`
	// User is the id of both the user and the group that the process runs as, with no
	// supplementary groups and no way to gain privileges.
	User int `json:",omitempty"`
	// Mounts are folders that the process sees in place of others.
	Mounts []Mount `json:",omitempty"`
	// Apart makes the process see only the processes that it starts, which all end with
	// it, and share no memory with others.
	Apart bool `json:",omitempty"`
	// Among is the namespace of processes to which the process is added (NamespaceOf), in
	// place of one of its own; nil for that. It sees the processes there, and ends when
	// they do. It has no effect without Apart.
	Among *os.File `json:"-"`
	// Hide are folders that the process sees empty, as far as they exist.
	Hide []string `json:",omitempty"`
	// Keep are files and folders that the process sees at their paths even below
	// folders that Hide or Mounts replace. The process can reach them whatever
	// permissions the folders above have.
	Keep []string `json:",omitempty"`
	// Game is the folder that the process sees at GameFolder as well as at its own path; "" for
	// none.
	Game string `json:",omitempty"`
	// Filter denies the process the system calls listed in filter_linux.go.
	Filter bool `json:",omitempty"`
}

// GameFolder is where Amazon's hosts have the build on Linux.
const GameFolder = "/local/game"

// Mount makes a process see the folder From at the path At; "" is an empty in-memory
// folder that all may write.
type Mount struct{ From, At string }

// Variable is the environment variable with the order for Enter.
const Variable = "MUSTER_ISOLATE"

// order is the content of Variable.
type order struct {
	Jail
	Join    []string `json:",omitempty"` // files to which the process writes its id
	First   bool     `json:",omitempty"` // be the first process of a namespace, once Program, which is launcher again, runs
	Program string   `json:",omitempty"` // to become; "" without First reports whether Reach can be accessed
	Reach   []string `json:",omitempty"`

	among *os.File      // Jail.Among
	ended chan struct{} // if it is not nil, it is closed when the first process of a namespace that was made has ended
}

// Start starts a command in the jail: it runs launcher, our own program, which enters
// the jail and then becomes the command's program with its arguments.
func (j Jail) Start(cmd *exec.Cmd, launcher string) error {
	o := j.order()
	if reflect.ValueOf(o).IsZero() {
		return cmd.Start()
	}
	o.Program = cmd.Path
	return o.launch(cmd, launcher)
}

func (j Jail) order() order {
	o := order{Jail: j}
	o.among, o.Among = j.Among, nil
	if j.Group != nil {
		o.Join, o.Group = j.Group.joins(), nil
	}
	return o
}

// give makes a command run launcher with the order.
func (o order) give(cmd *exec.Cmd, launcher string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("isolate: %w", err)
	}
	cmd.Path = launcher
	cmd.Env = append(cmd.Env, Variable+"="+string(text))
	return nil
}

// longestTry is how long a launcher may take that is tried.
const longestTry = 30 * time.Second

// Try reports whether a process can be put into the jail on this machine and can
// access the paths from within: nil if so. Errors: ErrUnavailable, with the cause.
func (j Jail) Try(launcher string, paths ...string) error {
	o := j.order()
	o.Reach = paths
	cmd := &exec.Cmd{Args: []string{launcher}, Dir: "/", Env: []string{"LANG=C.UTF-8"}}
	var said bytes.Buffer
	cmd.Stderr = &said
	if o.Apart && o.among == nil {
		o.ended = make(chan struct{})
	}
	err := o.launch(cmd, launcher)
	if err == nil {
		limit := time.AfterFunc(longestTry, func() { cmd.Process.Kill() }) // a launcher that is another program may not end
		err = cmd.Wait()
		limit.Stop()
		if o.ended != nil {
			<-o.ended // it has the user of the trial, whom an instance may get next
		}
	}
	if words := strings.TrimSpace(said.String()); err != nil && words != "" {
		err = fmt.Errorf("%s (%w)", words, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// Enter does what Start ordered, if anything: it enters the jail and becomes the
// program. A main function calls it first. It returns only if nothing was ordered; if
// it fails, the process exits with code 126.
func Enter() {
	text := os.Getenv(Variable)
	if text == "" {
		return
	}
	if err := enter(text); err != nil {
		fmt.Fprintln(os.Stderr, "muster: the program could not be started in its jail:", err)
		os.Exit(126)
	}
	os.Exit(0)
}

func enter(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	for _, file := range o.Join {
		if err := os.WriteFile(file, []byte("0"), 0); err != nil {
			return fmt.Errorf("join: %w", err)
		}
	}
	if err := o.confine(); err != nil {
		return err
	}
	switch {
	case o.Program != "":
		return o.become()
	case o.First:
		return outlive(os.Stdin, os.Stdout)
	}
	return reach(o.Reach)
}

// become runs the order's program in this process. Only this thread is confined so
// far, but all threads of the program will be.
func (o *order) become() error {
	if err := os.Unsetenv(Variable); err != nil {
		return err
	}
	env := os.Environ()
	if o.First {
		env = append(env, Variable+`={"First":true}`)
	}
	return replace(o.Program, os.Args, env)
}

// ErrUnavailable reports that this machine or user cannot do it.
var ErrUnavailable = errors.New("not possible on this machine, or not for this user")
