package charttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/kubernetes/pod"
)

// releaseVariable names the folder of the programs as they are shipped.
const releaseVariable = "MUSTER_RELEASE_BIN"

// The namespaces of the chart's objects.
const (
	servers = "muster"
	games   = "muster-games"
)

// The ports of the node that game servers may have.
const (
	firstPort = 20000
	lastPort  = 20015
)

// program builds a static program.
func program(t testing.TB, name string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return read(t, path)
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// story is a Muster that the chart has installed in a cluster of one node.
type story struct {
	*node
	postgres *pgtest.Server
	release  string // folder of the programs
	muster   *client.Client
	arena    string // the program, with which players play
	image    string // of its game servers
	fleet    string
}

// TestKubelet tries on a real node what the chart installs: the server's replicas on
// PostgreSQL, and muster-kubernetes, which makes container fleets of pods. Each part goes on
// from the one before.
func TestKubelet(t *testing.T) {
	release := os.Getenv(releaseVariable)
	if release == "" {
		t.Skip(releaseVariable + " is not set; make kubelet runs this test")
	}
	var ports []int
	for p := firstPort; p <= lastPort; p++ {
		ports = append(ports, p)
	}
	postgres := startPostgres(t)
	s := &story{node: startNode(t, ports), postgres: postgres, release: release}
	t.Log(s.run("uname -sr; kubelet --version; containerd --version; runc --version | head -1"))
	for _, part := range []struct {
		name string
		try  func()
	}{
		{"Install", s.install}, {"Join", s.join}, {"Security", s.security}, {"Fleet", s.container}, {"Play", s.play},
		{"Eviction", s.eviction}, {"Crash", s.crash}, {"Logs", s.containerLogs}, {"Agent", s.agent},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			began := time.Now()
			s.machine.t = t
			part.try()
			t.Logf("%.1f s", time.Since(began).Seconds())
		})
		s.machine.t = t
		if !ok {
			t.Log(s.pods())
			if s.muster != nil && s.fleet != "" {
				t.Log(strings.Join(s.events(t.Context(), s.fleet), "\n"))
			}
			return
		}
	}
}

// install applies the chart as docs/kubernetes.md says: Secrets first.
func (s *story) install() {
	release := s.release
	s.arena = filepath.Join(release, "arena")
	image := s.inside(s.registry.Push(s.t, "muster", enginetest.Image{Files: map[string][]byte{
		"muster": read(s.t, filepath.Join(release, "muster")), "muster-kubernetes": read(s.t, filepath.Join(release, "muster-kubernetes")), "helper": s.helper,
	}, User: "65532:65532", Entrypoint: []string{"/muster"}}))
	s.image = s.inside(s.registry.Push(s.t, "arena", enginetest.Image{
		Files:      map[string][]byte{"arena": read(s.t, s.arena), "etc/ssl/certs/ca-certificates.crt": s.authority.pem},
		Entrypoint: []string{"/arena", "server", "--port", "7777"},
	}))

	for _, namespace := range []string{servers, games} {
		_, err := s.api.CoreV1().Namespaces().Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		s.check(err)
	}
	cert := s.authority.issue(s.t, "muster", "", nodeAddress, "127.0.0.1")
	s.secret(servers, "muster-store", "url", s.database())
	s.secret(servers, "muster-master-key", "master.key", strings.Repeat("4b", 32))
	s.secret(servers, "muster-tls", "tls.crt", string(cert.cert), "tls.key", string(cert.key))
	s.secret(games, "muster-ca", "ca.crt", string(s.authority.pem))
	s.volume()
	s.ingress()
	name, digest, _ := strings.Cut(image, "@")
	applyChart(s.t, s.Cluster, fmt.Sprintf(`
image: {repository: %q, tag: "v1@%s"}
server:
  publicURL: https://%s:30443
  tls: {secretName: muster-tls}
  blobs: {size: 1Gi}
  extraArgs: [--plain-registries=%s]
kubernetes: {caSecretName: muster-ca, ports: %d-%d, memoryMiB: 8192, nodeLostAfter: 20s}
`, name, digest, nodeAddress, s.inside(s.registry.Host), firstPort, lastPort))
	s.until("both replicas of the server are ready", 5*time.Minute, func(ctx context.Context) (bool, error) {
		d, err := s.api.AppsV1().Deployments(servers).Get(ctx, "muster-server", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return d.Status.ReadyReplicas == 2, fmt.Errorf("%d replicas are ready", d.Status.ReadyReplicas)
	})
}

// startPostgres starts a PostgreSQL for the test, or skips it where that is not possible.
func startPostgres(t *testing.T) *pgtest.Server {
	t.Helper()
	postgres, err := pgtest.Start()
	if err != nil {
		t.Skipf("PostgreSQL cannot be started here: %v", err)
	}
	t.Cleanup(func() {
		if err := postgres.Stop(); err != nil {
			t.Error(err)
		}
	})
	return postgres
}

// database leads a port that the node reaches to a PostgreSQL server, and returns its URL
// there.
func (s *story) database() string {
	at, err := url.Parse(s.postgres.URL)
	s.check(err)
	address := accept(s.whole, func(down net.Conn) {
		forward("unix", filepath.Join(at.Query().Get("host"), ".s.PGSQL.5432"), down, down)
	})
	_, port, err := net.SplitHostPort(address)
	s.check(err)
	return fmt.Sprintf("postgres://postgres@%s:%s/postgres?sslmode=disable", hostAddress, port)
}

// volume makes the volume of builds and logs, a folder of the node that the server's user
// may write to.
func (s *story) volume() {
	s.run("mkdir -p /var/lib/blobs && chown 65532:65532 /var/lib/blobs")
	_, err := s.api.CoreV1().PersistentVolumes().Create(s.t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "blobs"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/blobs"}},
		},
	}, metav1.CreateOptions{})
	s.check(err)
}

// ingress leads a port of the node to the server, as an operator's load balancer does.
func (s *story) ingress() {
	_, err := s.api.CoreV1().Services(servers).Create(s.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "ingress"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app.kubernetes.io/instance": "muster", "app.kubernetes.io/component": "server"},
			Ports: []corev1.ServicePort{{Port: 9443, TargetPort: intstr.FromString("muster"), NodePort: 30443}},
		},
	}, metav1.CreateOptions{})
	s.check(err)
}

func (s *story) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) secret(namespace, name string, data ...string) {
	s.t.Helper()
	o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{}}
	for n := 0; n < len(data); n += 2 {
		o.StringData[data[n]] = data[n+1]
	}
	_, err := s.api.CoreV1().Secrets(namespace).Create(s.t.Context(), o, metav1.CreateOptions{})
	s.check(err)
}

// part returns the running pods of a part of the chart.
func (s *story) part(namespace, component string) []corev1.Pod {
	s.t.Helper()
	list, err := s.api.CoreV1().Pods(namespace).List(s.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component, FieldSelector: "status.phase=Running"})
	s.check(err)
	var all []corev1.Pod
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			all = append(all, p)
		}
	}
	return all
}

// security checks what a program of the chart may do, where the kernel says it.
func (s *story) security() {
	for _, name := range []string{"muster", "muster-kubernetes"} {
		out := s.run(fmt.Sprintf(`for p in $(pids %.15s); do grep -E "^(Uid|Gid|NoNewPrivs|Seccomp|CapEff|CapBnd):" /proc/$p/status; grep -E " / / " /proc/$p/mountinfo; done`, name))
		for what, want := range map[string]string{
			"user": `(?m)^Uid:\s65532\s65532`, "group": `(?m)^Gid:\s65532\s65532`, "privilege escalation": `(?m)^NoNewPrivs:\s1`, "seccomp": `(?m)^Seccomp:\s2`,
			"capabilities": `(?m)^CapEff:\s0+$`, "bounding set": `(?m)^CapBnd:\s0+$`, "read-only root": `(?m) / / ro,`,
		} {
			if !regexp.MustCompile(want).MatchString(out) {
				s.t.Errorf("%s of %s: no %s in\n%s", what, name, want, out)
			}
		}
	}
	for _, namespace := range []string{servers, games} {
		policies, err := s.api.NetworkingV1().NetworkPolicies(namespace).List(s.t.Context(), metav1.ListOptions{})
		s.check(err)
		if len(policies.Items) == 0 {
			s.t.Errorf("there is no NetworkPolicy in %s", namespace)
		}
	}
}

// join has the cluster join, as the chart's notes say.
func (s *story) join() {
	s.muster = &client.Client{
		Endpoint: "https://" + s.at("tcp:30443"), HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: s.authority.client()}, Timeout: time.Minute},
	}
	for _, p := range s.part(servers, "server") {
		if text, err := s.exec(servers, p.Name, "muster", "/helper", "cat", "/data/muster/admin-credentials"); err == nil {
			id := regexp.MustCompile(`aws_access_key_id = (\S+)`).FindStringSubmatch(text)
			secret := regexp.MustCompile(`aws_secret_access_key = (\S+)`).FindStringSubmatch(text)
			if id == nil || secret == nil {
				s.t.Fatalf("the admin key is in no credentials file: %q", text)
			}
			s.muster.Credentials = client.Credentials{AccessKeyID: id[1], SecretAccessKey: secret[1]}
		}
	}
	if s.muster.Credentials.AccessKeyID == "" {
		s.t.Fatal("no replica has the admin key")
	}
	s.call("CreateLocation", map[string]any{"LocationName": "custom-cluster"}, nil)
	token, err := s.muster.CreateJoinToken(s.t.Context(), client.JoinTokenInput{Location: "custom-cluster"})
	s.check(err)
	s.secret(games, "muster-join-token", "token", token.Token)
	s.restart()
	s.until("the cluster is a host", 3*time.Minute, func(ctx context.Context) (bool, error) {
		hosts, err := s.muster.Hosts().List(ctx)
		if err != nil || len(hosts) == 0 {
			return false, fmt.Errorf("%d hosts: %w", len(hosts), errors.Join(err))
		}
		h := hosts[0]
		return h.CPUMillis == 4000 && h.MemoryMiB == 8192, fmt.Errorf("the host has %d milli-CPU and %d MiB", h.CPUMillis, h.MemoryMiB)
	})
	s.until("both replicas of muster-kubernetes are ready", 3*time.Minute, func(ctx context.Context) (bool, error) {
		d, err := s.api.AppsV1().Deployments(games).Get(ctx, "muster-kubernetes", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return d.Status.ReadyReplicas == 2 && d.Status.UpdatedReplicas == 2 && d.Status.Replicas == 2, fmt.Errorf("%+v", d.Status)
	})
}

// restart is kubectl rollout restart of muster-kubernetes.
func (s *story) restart() {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339))
	_, err := s.api.AppsV1().Deployments(games).Patch(s.t.Context(), "muster-kubernetes", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	s.check(err)
}

// call calls an operation of the API.
func (s *story) call(operation string, in, out any) {
	s.t.Helper()
	if err := s.muster.Call(s.t.Context(), operation, in, out); err != nil {
		s.t.Fatalf("%s: %v", operation, err)
	}
}

// exec runs a program in a container, as kubectl exec does.
func (s *story) exec(namespace, name, container string, command ...string) (string, error) {
	q := url.Values{"container": {container}, "command": command, "stdout": {"1"}, "stderr": {"1"}}
	dialer := websocket.Dialer{TLSClientConfig: s.authority.client(), Subprotocols: []string{"v5.channel.k8s.io"}, HandshakeTimeout: time.Minute}
	at := fmt.Sprintf("wss://127.0.0.1:%s/api/v1/namespaces/%s/pods/%s/exec?%s", s.secure, namespace, name, q.Encode())
	conn, response, err := dialer.Dial(at, http.Header{"Authorization": {"Bearer " + s.API.BearerToken}})
	if err != nil {
		if response != nil {
			return "", fmt.Errorf("%w: %s", err, response.Status)
		}
		return "", err
	}
	defer conn.Close()
	var out strings.Builder
	for {
		_, frame, err := conn.ReadMessage()
		switch {
		case err != nil:
			return out.String(), err
		case len(frame) == 0:
		case frame[0] == 3: // how it ended
			var status metav1.Status
			if err := json.Unmarshal(frame[1:], &status); err != nil {
				return out.String(), err
			}
			if status.Status != metav1.StatusSuccess {
				return out.String(), errors.New(status.Message)
			}
			return out.String(), nil
		default:
			out.Write(frame[1:])
		}
	}
}

// pods describes all pods, for a failed test.
func (s *story) pods() string {
	list, err := s.api.CoreV1().Pods("").List(context.WithoutCancel(s.t.Context()), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, p := range list.Items {
		fmt.Fprintf(&out, "%s/%s %s %s\n", p.Namespace, p.Name, p.Status.Phase, p.Status.Message)
		for _, c := range p.Status.Conditions {
			if c.Status != corev1.ConditionTrue && c.Message != "" {
				fmt.Fprintf(&out, "  %s %s: %s\n", c.Type, c.Reason, c.Message)
			}
		}
		for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			if w := c.State.Waiting; w != nil {
				fmt.Fprintf(&out, "  %s waits: %s: %s\n", c.Name, w.Reason, w.Message)
			}
			if e := c.LastTerminationState.Terminated; e != nil {
				fmt.Fprintf(&out, "  %s ended: %s %d %s\n", c.Name, e.Reason, e.ExitCode, e.Message)
			}
			if lines := int64(8); c.State.Running != nil || c.LastTerminationState.Terminated != nil {
				text, _ := s.api.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{Container: c.Name, TailLines: &lines, Previous: c.State.Running == nil}).DoRaw(context.WithoutCancel(s.t.Context()))
				fmt.Fprintf(&out, "  %s\n", bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\n"), []byte("\n  ")))
			}
		}
	}
	return out.String()
}

// runs returns the pods of the fleet's game servers that run, by name, or all of them.
func (s *story) runs(ctx context.Context) (map[string]*corev1.Pod, error) {
	list, err := s.api.CoreV1().Pods(games).List(ctx, metav1.ListOptions{LabelSelector: pod.LabelFleet + "," + pod.LabelProcess})
	if err != nil {
		return nil, err
	}
	all := map[string]*corev1.Pod{}
	for n := range list.Items {
		if p := &list.Items[n]; p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			all[p.Name] = p
		}
	}
	return all, nil
}
