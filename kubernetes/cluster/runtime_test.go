package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/kubernetes/pod"
	"github.com/musterhq/muster/test/gameserver"
)

// runtime runs the game servers of simulated nodes: one for each running pod, with its
// environment. The pod ends when its game server does, and the game server when its pod is
// deleted.
type runtime struct {
	kubelet
	launch func(context.Context, *corev1.Pod) (gameServer, error)
	wait   sync.WaitGroup
	writes chan struct{} // holds a value for each end that is being written

	mu      sync.Mutex
	servers map[types.UID]*server // by pod
}

// gameServer is the game server of a pod.
type gameServer interface {
	end()      // asks it to end
	kill()     // ends it
	wait() int // waits until it has ended, and returns its exit code
}

// server is a game server, and what became of its pod.
type server struct {
	gameServer
	gone bool // its pod is
}

// startRuntime runs what pods desire until the test ends.
func startRuntime(k kubelet, launch func(context.Context, *corev1.Pod) (gameServer, error)) *runtime {
	k.t.Helper()
	r := &runtime{kubelet: k, launch: launch, writes: make(chan struct{}, 16), servers: map[types.UID]*server{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(k.t.Context()))
	game := func(o *metav1.ListOptions) { o.LabelSelector = pod.LabelProcess }
	pods := cache.NewSharedInformer(cache.NewFilteredListWatchFromClient(k.Core.RESTClient(), "pods", "default", game), &corev1.Pod{}, 0)
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(p any) { r.sees(ctx, p.(*corev1.Pod)) },
		UpdateFunc: func(_, p any) { r.sees(ctx, p.(*corev1.Pod)) },
		DeleteFunc: r.misses,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	r.wait.Go(func() { pods.RunWithContext(ctx) })
	k.t.Cleanup(func() {
		cancel()
		r.mu.Lock()
		for _, s := range r.servers {
			s.gone = true
			s.kill()
		}
		r.mu.Unlock()
		r.wait.Wait()
	})
	return r
}

func (r *runtime) sees(ctx context.Context, p *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.servers[p.UID]
	switch {
	case p.DeletionTimestamp != nil:
		s.leave()
	case s == nil && p.Status.Phase == corev1.PodRunning && ctx.Err() == nil:
		if err := r.start(ctx, p); err != nil && ctx.Err() == nil {
			r.t.Errorf("start pod %s: %v", p.Name, err)
		}
	}
}

func (r *runtime) misses(at any) {
	if last, ok := at.(cache.DeletedFinalStateUnknown); ok {
		at = last.Obj
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers[at.(*corev1.Pod).UID].leave()
}

// leave asks the game server of a pod that is gone to end. Nil is a pod without one.
func (s *server) leave() {
	if s != nil && !s.gone {
		s.gone = true
		s.end()
	}
}

// start starts the game server of a pod. The caller must hold mu.
func (r *runtime) start(ctx context.Context, p *corev1.Pod) error {
	g, err := r.launch(ctx, p)
	if err != nil {
		return err
	}
	s := &server{gameServer: g}
	r.servers[p.UID] = s
	r.wait.Go(func() { r.ended(ctx, p, s, s.wait()) })
	return nil
}

// environment returns the environment of a pod's first container.
func (k kubelet) environment(ctx context.Context, p *corev1.Pod) ([]string, error) {
	var env []string
	for _, v := range p.Spec.Containers[0].Env {
		value := v.Value
		if v.ValueFrom != nil {
			ref := v.ValueFrom.SecretKeyRef
			s, err := k.Core.Secrets("default").Get(ctx, ref.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			value = string(s.Data[ref.Key])
		}
		env = append(env, v.Name+"="+value)
	}
	return env, nil
}

// ended writes to the status of a pod that its game server has ended, with an exit code.
func (r *runtime) ended(ctx context.Context, p *corev1.Pod, s *server, exit int) {
	r.mu.Lock()
	gone := s.gone
	r.mu.Unlock()
	if gone {
		return
	}
	code, phase := int32(exit), corev1.PodFailed
	if code == 0 {
		phase = corev1.PodSucceeded
	}
	text, err := json.Marshal(map[string]any{"status": corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
		Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, StartedAt: *p.Status.StartTime, FinishedAt: metav1.Now(),
		}},
	}}}})
	for again := err == nil; again && ctx.Err() == nil; again = apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) { // as a kubelet does
		r.writes <- struct{}{}
		_, err = r.Core.Pods("default").Patch(ctx, p.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
		<-r.writes
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		r.t.Errorf("the end of pod %s: %v", p.Name, err)
	}
}

// arenas runs the demo game as processes of this machine. Since all are in one network, each
// uses another one of the ports that a container has.
type arenas struct {
	kubelet
	images map[string][]string // arguments by image
	folder string              // of outputs

	mu    sync.Mutex
	ports []int // of containers, that are free
	used  map[types.UID]int
}

func newArenas(k kubelet, ports []int, images map[string][]string) *arenas {
	k.t.Helper()
	if os.Getenv("ARENA_BIN") == "" {
		k.t.Skip("ARENA_BIN is not set; make kube runs this test")
	}
	return &arenas{kubelet: k, images: images, ports: ports, folder: k.t.TempDir(), used: map[types.UID]int{}}
}

// launch starts the process of a pod.
func (a *arenas) launch(ctx context.Context, p *corev1.Pod) (gameServer, error) {
	args, known := a.images[p.Spec.Containers[0].Image]
	a.mu.Lock()
	defer a.mu.Unlock()
	if !known || len(a.ports) == 0 {
		return nil, fmt.Errorf("there is no program for image %s, or no port", p.Spec.Containers[0].Image)
	}
	env, err := a.environment(ctx, p)
	if err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(a.folder, string(p.UID)+".log"))
	if err != nil {
		return nil, err
	}
	port := a.ports[0]
	cmd := exec.Command(os.Getenv("ARENA_BIN"), append(slices.Clone(args), "--port="+strconv.Itoa(port))...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	a.ports, a.used[p.UID] = a.ports[1:], port
	return &arena{a, cmd, out, port}, nil
}

// arena is one process of the demo game.
type arena struct {
	all  *arenas
	cmd  *exec.Cmd
	out  *os.File
	port int
}

func (a *arena) end() { _ = a.cmd.Process.Signal(syscall.SIGTERM) } // it may have ended

func (a *arena) kill() { _ = a.cmd.Process.Kill() } // it may have ended

func (a *arena) wait() int {
	_ = a.cmd.Wait() // its code is in ProcessState
	a.out.Close()
	a.all.mu.Lock()
	a.all.ports = append(a.all.ports, a.port)
	a.all.mu.Unlock()
	return a.cmd.ProcessState.ExitCode()
}

// port returns the container's port that the process of a pod uses.
func (a *arenas) port(p *corev1.Pod) int {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	port, ok := a.used[p.UID]
	if !ok {
		a.t.Fatalf("pod %s has no process", p.Name)
	}
	return port
}

// plainServers runs game servers of the tests' own in this process, of which there may be
// thousands.
type plainServers struct {
	kubelet
	slots chan struct{} // holds a value for each that is starting

	// shrinks reports whether the fleet is losing instances. A game server that ends with its
	// instance may be started once more before the agent learns why, and is refused then.
	shrinks atomic.Bool
}

// launch starts the game server of a pod, which is ready later.
func (a *plainServers) launch(ctx context.Context, p *corev1.Pod) (gameServer, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &plainServer{quit: cancel, ended: make(chan int, 1)}
	go func() {
		defer cancel()
		s.ended <- a.run(ctx, p)
	}()
	return s, nil
}

// run runs a game server until it ends, and returns its exit code.
func (a *plainServers) run(ctx context.Context, p *corev1.Pod) int {
	a.slots <- struct{}{}
	env, err := a.environment(ctx, p)
	var s *gameserver.Process
	if err == nil {
		value := map[string]string{}
		for _, line := range env {
			name, text, _ := strings.Cut(line, "=")
			value[name] = text
		}
		s, err = gameserver.Start(ctx, gameserver.Options{
			Endpoint: value["GAMELIFT_SDK_WEBSOCKET_URL"], Token: value["GAMELIFT_SDK_AUTH_TOKEN"], FleetID: value["GAMELIFT_SDK_FLEET_ID"],
			ComputeName: value["GAMELIFT_SDK_HOST_ID"], ProcessID: value["GAMELIFT_SDK_PROCESS_ID"], Port: int(p.Spec.Containers[0].Ports[0].ContainerPort),
			Timeout: patience,
		})
	}
	<-a.slots
	switch {
	case ctx.Err() != nil:
		return 1
	case err != nil && a.shrinks.Load():
		return 1
	case err != nil:
		a.t.Errorf("the game server of pod %s: %v", p.Name, err)
		return 1
	}
	healthy := time.NewTicker(30 * time.Second)
	defer healthy.Stop()
	for {
		select {
		case <-s.Done():
			return 0
		case <-healthy.C:
			_ = s.Heartbeat(ctx, gameserver.Healthy) // the connection may be broken; the next one counts
		}
	}
}

// plainServer is a game server in this process.
type plainServer struct {
	quit  context.CancelFunc
	ended chan int
}

func (s *plainServer) end() { s.quit() }

func (s *plainServer) kill() { s.quit() }

func (s *plainServer) wait() int { return <-s.ended }

// freePorts returns consecutive ports that are free now, for UDP and TCP.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for first := 12000 + time.Now().Nanosecond()%8000; first < 30000; first += n {
		for ports = nil; len(ports) < n && isFree(first+len(ports)); {
			ports = append(ports, first+len(ports))
		}
		if len(ports) == n {
			return ports
		}
	}
	t.Fatalf("no %d consecutive ports are free", n)
	return nil
}

func isFree(port int) bool {
	at := ":" + strconv.Itoa(port)
	udp, err := net.ListenPacket("udp", at)
	if err != nil {
		return false
	}
	udp.Close()
	tcp, err := net.Listen("tcp", at)
	if err != nil {
		return false
	}
	tcp.Close()
	return true
}
