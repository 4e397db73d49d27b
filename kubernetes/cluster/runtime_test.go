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
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/musterhq/muster/kubernetes/pod"
)

// runtime runs the game servers of simulated nodes as processes of this machine: one for
// each running pod, with its environment. The pod ends when its process does, and the
// process when its pod is deleted. Since all are in one network, each uses another one of
// the ports that a container has.
type runtime struct {
	kubelet
	images map[string][]string // arguments of the arena by image; pods of others have no process
	wait   sync.WaitGroup
	folder string // of outputs

	mu      sync.Mutex
	ports   []int                     // of containers, that are free
	servers map[types.UID]*gameServer // by pod
}

// gameServer is the process of a pod.
type gameServer struct {
	cmd  *exec.Cmd
	port int  // of the container
	gone bool // its pod is
}

// startRuntime runs what pods desire until the test ends.
func startRuntime(k kubelet, ports []int, images map[string][]string) *runtime {
	k.t.Helper()
	if os.Getenv("ARENA_BIN") == "" {
		k.t.Skip("ARENA_BIN is not set; make kube runs this test")
	}
	r := &runtime{kubelet: k, images: images, ports: ports, folder: k.t.TempDir(), servers: map[types.UID]*gameServer{}}
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
			_ = s.cmd.Process.Kill() // it may have ended
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
		s.end()
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
	r.servers[at.(*corev1.Pod).UID].end()
}

// end tells the process of a pod that is gone to end. Nil is a pod without one.
func (s *gameServer) end() {
	if s != nil {
		s.gone = true
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	}
}

// start starts the process of a pod. The caller must hold mu.
func (r *runtime) start(ctx context.Context, p *corev1.Pod) error {
	args, known := r.images[p.Spec.Containers[0].Image]
	if !known || len(r.ports) == 0 {
		return fmt.Errorf("there is no program for image %s, or no port", p.Spec.Containers[0].Image)
	}
	env, err := r.environment(ctx, p)
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(r.folder, string(p.UID)+".log"))
	if err != nil {
		return err
	}
	s := &gameServer{port: r.ports[0]}
	s.cmd = exec.Command(os.Getenv("ARENA_BIN"), append(slices.Clone(args), "--port="+strconv.Itoa(s.port))...)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = env, out, out
	if err := s.cmd.Start(); err != nil {
		out.Close()
		return err
	}
	r.ports = r.ports[1:]
	r.servers[p.UID] = s
	r.wait.Go(func() {
		_ = s.cmd.Wait() // its code is in ProcessState
		out.Close()
		r.ended(ctx, p, s)
	})
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

// ended has a pod end as its process did.
func (r *runtime) ended(ctx context.Context, p *corev1.Pod, s *gameServer) {
	r.mu.Lock()
	r.ports = append(r.ports, s.port)
	gone := s.gone
	r.mu.Unlock()
	if gone {
		return
	}
	code, phase := int32(s.cmd.ProcessState.ExitCode()), corev1.PodFailed
	if code == 0 {
		phase = corev1.PodSucceeded
	}
	text, err := json.Marshal(map[string]any{"status": corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
		Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, StartedAt: *p.Status.StartTime, FinishedAt: metav1.Now(),
		}},
	}}}})
	if err == nil {
		_, err = r.Core.Pods("default").Patch(ctx, p.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	}
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		r.t.Errorf("the end of pod %s: %v", p.Name, err)
	}
}

// port returns the container's port that the process of a pod uses.
func (r *runtime) port(p *corev1.Pod) int {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.servers[p.UID]
	if s == nil {
		r.t.Fatalf("pod %s has no process", p.Name)
	}
	return s.port
}

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
