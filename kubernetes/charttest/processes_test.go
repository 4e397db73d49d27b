package charttest

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	coordination "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"github.com/musterhq/muster/kubernetes/internal/kubetest"
)

// processes is a node whose containers are processes of this machine, each with the arguments,
// the environment and the volumes of its container, and an address and a host name of its own.
// It makes probes, and answers kubectl logs and kubectl exec. A pod has one container.
type processes struct {
	*kubetest.Cluster
	t      *testing.T
	api    *kubernetes.Clientset
	folder string
	trust  string              // file with the authorities that images trust
	images map[string][]string // programs by the path in an image, or by an image's name for its entrypoint
	prefix string              // of the addresses of pods
	wait   sync.WaitGroup

	mu   sync.Mutex
	last int // number of the last address
	pods map[types.UID]*process
}

// process is a pod that runs.
type process struct {
	*corev1.Pod
	ip    string
	env   []string
	args  []string
	log   *os.File
	files []mounted
	gone  chan struct{} // closed when the pod is to end
}

// mounted is a volume of a pod.
type mounted struct{ path, folder string }

const nodeName = "node-1"

// startProcesses adds the node to a cluster that has a scheduler and controllers.
func startProcesses(t *testing.T, k *kubetest.Cluster, trust string, images map[string][]string) *processes {
	t.Helper()
	if out, err := exec.Command("unshare", append(apart(), "hostname", "pod")...).CombinedOutput(); err != nil {
		t.Skipf("this machine gives processes no host name of their own, which replicas are told apart by: %v: %s", err, out)
	}
	n := &processes{Cluster: k, t: t, folder: t.TempDir(), trust: trust, images: images, pods: map[types.UID]*process{}}
	n.prefix = fmt.Sprintf("127.%d.%d.", 1+os.Getpid()>>8%250, os.Getpid()%256)
	var err error
	if n.api, err = kubernetes.NewForConfig(k.API); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		n.wait.Wait()
		n.showLogs()
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", n.logs)
	mux.HandleFunc("POST /exec/{namespace}/{pod}/{container}", n.exec)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	node := kubetest.Node(nodeName, "16", "32Gi", corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "127.0.0.1"})
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(server.Listener.Addr().(*net.TCPAddr).Port)
	if _, err := n.api.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.wait.Go(func() { n.lives(ctx) })
	here := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", nodeName).String()
	}
	pods := cache.NewSharedInformer(cache.NewFilteredListWatchFromClient(k.Core.RESTClient(), "pods", "", here), &corev1.Pod{}, 0)
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(p any) { n.sees(ctx, p.(*corev1.Pod)) },
		UpdateFunc: func(_, p any) { n.sees(ctx, p.(*corev1.Pod)) },
		DeleteFunc: n.misses,
	}); err != nil {
		t.Fatal(err)
	}
	n.wait.Go(func() { pods.RunWithContext(ctx) })
	return n
}

// showLogs writes the end of each pod's log if the test has failed. No pod may run any more.
func (n *processes) showLogs() {
	if !n.t.Failed() {
		return
	}
	for _, p := range n.pods {
		if p.log == nil {
			continue
		}
		text, err := os.ReadFile(p.log.Name())
		n.t.Logf("pod %s/%s of %s, %v: …%s", p.Namespace, p.Name, p.Spec.Containers[0].Image, err, text[max(0, len(text)-2000):])
	}
}

// lives renews the Lease by which the controllers know that the node answers.
func (n *processes) lives(ctx context.Context) {
	leases := n.api.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	name, seconds := nodeName, int32(40)
	each := time.NewTicker(5 * time.Second)
	defer each.Stop()
	for {
		now := metav1.NowMicro()
		lease, err := leases.Get(ctx, nodeName, metav1.GetOptions{})
		switch {
		case err == nil:
			lease.Spec.RenewTime = &now
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		case apierrors.IsNotFound(err):
			_, err = leases.Create(ctx, &coordination.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: nodeName}, Spec: coordination.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
			}, metav1.CreateOptions{})
		}
		if err != nil && ctx.Err() == nil {
			n.t.Logf("the node's lease: %v", err) // the next one counts
		}
		select {
		case <-ctx.Done():
			return
		case <-each.C:
		}
	}
}

func (n *processes) sees(ctx context.Context, p *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	run := n.pods[p.UID]
	switch {
	case ctx.Err() != nil:
	case run != nil && p.DeletionTimestamp != nil:
		run.leave()
	case run == nil && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodPending:
		n.last++
		run = &process{Pod: p, ip: fmt.Sprint(n.prefix, n.last), gone: make(chan struct{})}
		n.pods[p.UID] = run
		n.wait.Go(func() {
			if err := n.runs(ctx, run); err != nil && ctx.Err() == nil {
				n.t.Errorf("pod %s/%s: %v", p.Namespace, p.Name, err)
			}
		})
	}
}

func (n *processes) misses(at any) {
	if last, ok := at.(cache.DeletedFinalStateUnknown); ok {
		at = last.Obj
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if run := n.pods[at.(*corev1.Pod).UID]; run != nil {
		run.leave()
	}
}

// leave has a pod end. The caller must hold mu.
func (p *process) leave() {
	if !p.left() {
		close(p.gone)
	}
}

// runs runs a pod until it is deleted, or has ended and is not to start again.
func (n *processes) runs(ctx context.Context, p *process) error {
	if err := n.prepare(ctx, p); err != nil {
		return err
	}
	defer p.log.Close()
	for !p.left() && ctx.Err() == nil {
		code, err := n.once(ctx, p)
		if err != nil {
			return err
		}
		if p.left() || ctx.Err() != nil {
			break
		}
		again := time.Second
		state, phase := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: fmt.Sprintf("it ended with %d", code)}}, corev1.PodRunning
		if p.Spec.RestartPolicy == corev1.RestartPolicyNever {
			again = 1 << 62 // not before it is deleted
			now := metav1.Now()
			state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), StartedAt: now, FinishedAt: now}}
			phase = map[bool]corev1.PodPhase{true: corev1.PodSucceeded, false: corev1.PodFailed}[code == 0]
		}
		if err := n.says(ctx, p, phase, false, state); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-p.gone:
		case <-time.After(again):
		}
	}
	now := int64(0)
	err := n.Core.Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another pod may have its name
		return nil
	}
	return err
}

// left reports whether a pod is to end.
func (p *process) left() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// apart are the arguments with which unshare lets a process have a host name of its own.
func apart() []string {
	if os.Getuid() == 0 {
		return []string{"--uts"}
	}
	return []string{"--uts", "--map-root-user"}
}

// once runs the process of a pod until it ends, and returns its exit code.
func (n *processes) once(ctx context.Context, p *process) (code int, err error) {
	cmd := exec.Command("unshare", append(append(apart(), "sh", "-c", `hostname "$0" && exec "$@"`, p.Name), p.args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, p.log, p.log
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its code is in ProcessState
		close(ended)
	}()
	defer func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
		code = cmd.ProcessState.ExitCode()
	}()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	probe := n.probe(p)
	each := time.NewTicker(250 * time.Millisecond)
	defer each.Stop()
	for first, was := true, false; ; first = false {
		ready := probe(ctx)
		if first || ready != was {
			if err := n.says(ctx, p, corev1.PodRunning, ready, running); err != nil && ctx.Err() == nil {
				return 0, err
			}
			was = ready
		}
		select {
		case <-ended:
			return 0, nil
		case <-ctx.Done():
			return 0, nil
		case <-p.gone:
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			select {
			case <-ended:
			case <-ctx.Done():
			case <-time.After(time.Duration(*p.Spec.TerminationGracePeriodSeconds) * time.Second):
			}
			return 0, nil
		case <-each.C:
		}
	}
}

// probe returns how to ask whether a pod is ready.
func (n *processes) probe(p *process) func(context.Context) bool {
	c := p.Spec.Containers[0]
	if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet == nil {
		return func(context.Context) bool { return true }
	}
	get := c.ReadinessProbe.HTTPGet
	port := get.Port.IntValue()
	for _, named := range c.Ports {
		if get.Port.Type == intstr.String && named.Name == get.Port.StrVal {
			port = int(named.ContainerPort)
		}
	}
	at := strings.ToLower(string(cmp.Or(get.Scheme, corev1.URISchemeHTTP))) + "://" + net.JoinHostPort(p.ip, fmt.Sprint(port)) + get.Path
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // as a kubelet does
	return func(ctx context.Context) bool {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return false
		}
		response, err := client.Do(r)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
}

// says writes the status of a pod.
func (n *processes) says(ctx context.Context, p *process, phase corev1.PodPhase, ready bool, state corev1.ContainerState) error {
	is := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}
	c, now := p.Spec.Containers[0], metav1.Now()
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: now}
	}
	started := state.Running != nil
	text, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
		Phase: phase, HostIP: "127.0.0.1", PodIP: p.ip, PodIPs: []corev1.PodIP{{IP: p.ip}}, StartTime: &now,
		Conditions:        []corev1.PodCondition{condition(corev1.PodInitialized, corev1.ConditionTrue), condition(corev1.ContainersReady, is[ready]), condition(corev1.PodReady, is[ready])},
		ContainerStatuses: []corev1.ContainerStatus{{Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "process://" + string(p.UID), Ready: ready, Started: &started, State: state}},
	}})
	if err == nil {
		_, err = n.Core.Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	}
	if apierrors.IsNotFound(err) || ctx.Err() != nil {
		return nil
	}
	return err
}

// prepare makes the volumes of a pod, and what its process is started with.
func (n *processes) prepare(ctx context.Context, p *process) (err error) {
	folder := filepath.Join(n.folder, string(p.UID))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if p.log, err = os.Create(filepath.Join(folder, "log")); err != nil {
		return err
	}
	c := p.Spec.Containers[0]
	for _, v := range p.Spec.Volumes {
		at, err := n.volume(ctx, p, v, filepath.Join(folder, v.Name))
		if err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
		for _, m := range c.VolumeMounts {
			if m.Name == v.Name {
				p.files = append(p.files, mounted{m.MountPath, at})
			}
		}
	}
	slices.SortFunc(p.files, func(a, b mounted) int { return len(b.path) - len(a.path) })
	if err := n.environment(ctx, p, folder); err != nil {
		return err
	}
	command := append(slices.Clone(c.Command), c.Args...)
	if len(c.Command) == 0 {
		command = append([]string{c.Image}, c.Args...)
	}
	p.args, err = n.command(p, command)
	return err
}

// volume makes a volume, and returns its folder.
func (n *processes) volume(ctx context.Context, p *process, v corev1.Volume, own string) (string, error) {
	switch {
	case v.EmptyDir != nil:
		return own, os.Mkdir(own, 0o700)
	case v.PersistentVolumeClaim != nil:
		claim, err := n.Core.PersistentVolumeClaims(p.Namespace).Get(ctx, v.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		shared := filepath.Join(n.folder, claim.Spec.VolumeName)
		return shared, os.MkdirAll(shared, 0o700)
	case v.Secret != nil:
		secret, err := n.Core.Secrets(p.Namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if err := os.Mkdir(own, 0o700); err != nil {
			return "", err
		}
		for name, content := range secret.Data {
			if err := os.WriteFile(filepath.Join(own, name), content, 0o600); err != nil {
				return "", err
			}
		}
		return own, nil
	}
	return "", errors.New("its kind is not known here")
}

// environment makes the environment of a pod's process. Its credentials are those of its
// service account.
func (n *processes) environment(ctx context.Context, p *process, folder string) error {
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOSTNAME=" + p.Name, "SSL_CERT_FILE=" + n.trust}
	for _, m := range p.files {
		if m.path == "/tmp" {
			p.env = append(p.env, "TMPDIR="+m.folder)
		}
	}
	for _, v := range p.Spec.Containers[0].Env {
		value := v.Value
		switch from := v.ValueFrom; {
		case from == nil:
		case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
			value = p.ip
		case from.SecretKeyRef != nil:
			secret, err := n.Core.Secrets(p.Namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) && from.SecretKeyRef.Optional != nil && *from.SecretKeyRef.Optional {
				continue
			}
			if err != nil {
				return fmt.Errorf("variable %s: %w", v.Name, err)
			}
			value = string(secret.Data[from.SecretKeyRef.Key])
		default:
			return fmt.Errorf("variable %s has a source that is not known here", v.Name)
		}
		p.env = append(p.env, v.Name+"="+value)
	}
	if a := p.Spec.AutomountServiceAccountToken; a != nil && !*a || p.Spec.ServiceAccountName == "" {
		return nil
	}
	account, err := n.Core.ServiceAccounts(p.Namespace).Get(ctx, p.Spec.ServiceAccountName, metav1.GetOptions{})
	if err != nil || account.AutomountServiceAccountToken != nil && !*account.AutomountServiceAccountToken {
		return err
	}
	token, err := n.Core.ServiceAccounts(p.Namespace).CreateToken(ctx, account.Name, &authentication.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "kubeconfig")
	p.env = append(p.env, "KUBECONFIG="+path)
	return os.WriteFile(path, kubeconfig(n.API.Host, token.Status.Token), 0o600)
}

// kubeconfig returns a file with how to reach the API server.
func kubeconfig(server, token string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":%q}}]}`, server, token)
}

var (
	variables = regexp.MustCompile(`\$\([A-Z_]+\)`)
	wildcard  = regexp.MustCompile(`^(--[a-z-]*listen=)(0\.0\.0\.0)?:(\d+)$`)
)

// command returns what a container's command is on this machine: programs and folders are
// elsewhere, and all addresses of a pod are its one.
func (n *processes) command(p *process, command []string) ([]string, error) {
	program, ok := n.images[command[0]]
	if !ok {
		return nil, fmt.Errorf("exec %s: no such file in the image", command[0])
	}
	out := slices.Clone(program)
	for _, arg := range command[1:] {
		arg = variables.ReplaceAllStringFunc(arg, func(v string) string {
			for _, e := range p.env {
				if value, is := strings.CutPrefix(e, v[2:len(v)-1]+"="); is {
					return value
				}
			}
			return v
		})
		arg = wildcard.ReplaceAllString(arg, "${1}"+p.ip+":${3}")
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			name, value = "", arg
		}
		for _, m := range p.files {
			if rest, is := strings.CutPrefix(value, m.path); is && (rest == "" || rest[0] == '/') {
				value = m.folder + rest
				break
			}
		}
		if ok {
			value = name + "=" + value
		}
		out = append(out, value)
	}
	return out, nil
}

// find returns the pod that a request names, or answers that there is none.
func (n *processes) find(w http.ResponseWriter, r *http.Request) *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.Namespace == r.PathValue("namespace") && p.Name == r.PathValue("pod") && p.Spec.Containers[0].Name == r.PathValue("container") {
			return p
		}
	}
	http.NotFound(w, r)
	return nil
}

// logs answers kubectl logs, with all that a process has printed.
func (n *processes) logs(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		http.Error(w, "only whole logs are known here, not "+r.URL.RawQuery, http.StatusNotImplemented)
		return
	}
	if p := n.find(w, r); p != nil {
		http.ServeFile(w, r, p.log.Name())
	}
}

// exec answers kubectl exec.
func (n *processes) exec(w http.ResponseWriter, r *http.Request) {
	p := n.find(w, r)
	if p == nil {
		return
	}
	o, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, executor{n, p}, p.Name, string(p.UID), r.PathValue("container"), r.URL.Query()["command"], o, time.Minute, time.Minute, remotecommand.SupportedStreamingProtocols)
}

// executor runs programs beside the process of a pod.
type executor struct {
	*processes
	in *process
}

func (e executor) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	args, err := e.command(e.in, command)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = e.in.env, in, out, errs
	err = cmd.Run()
	if failed, ok := err.(*exec.ExitError); ok {
		return exited{failed}
	}
	return err
}

// exited is the end of a program in the form of the library.
type exited struct{ *exec.ExitError }

func (e exited) ExitStatus() int { return e.ExitCode() }

// entrance leads a port of this machine to the ready pods of the server, as an operator's load
// balancer does. It returns the URL.
func (n *processes) entrance() string {
	n.t.Helper()
	return (&url.URL{Scheme: "https", Host: accept(n.t, n.forward)}).String()
}

func (n *processes) forward(down net.Conn) {
	list, err := n.Core.Pods(servers).List(context.Background(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=server"})
	if err != nil {
		return
	}
	for _, p := range list.Items {
		if !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			continue
		}
		if forward("tcp", p.Status.PodIP+":9443", down, down) == nil {
			return
		}
	}
}
