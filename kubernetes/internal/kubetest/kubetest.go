// Package kubetest starts the real programs of a Kubernetes cluster for tests, without a
// kubelet: etcd and the API server, and for some tests the scheduler, the controllers and
// kwok, which simulates nodes.
package kubetest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// Variable names the folder of the programs; without it there is no cluster.
const Variable = "MUSTER_KUBE_BIN"

// Cluster is a running cluster. Its programs end with the test.
type Cluster struct {
	API       *rest.Config
	Core      typed.CoreV1Interface
	programs  string
	folder    string
	config    string // kubeconfig
	apiserver *exec.Cmd
	flags     []string // of the API server
}

const token = "tests"

// Start starts etcd and the API server, or skips the test. Without nodes of its own a
// cluster has no use for service accounts and endpoints.
func Start(t testing.TB) *Cluster {
	t.Helper()
	return StartWith(t, port(t), "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--allow-privileged")
}

// StartWith is like Start, with the port of the API server and what else it is started with.
func StartWith(t testing.TB, secure string, flags ...string) *Cluster {
	t.Helper()
	c := &Cluster{programs: programs(t), folder: t.TempDir()}
	etcd, peer := port(t), port(t)
	store := "http://127.0.0.1:" + etcd
	c.run(t, "etcd", "--data-dir="+filepath.Join(c.folder, "etcd"), "--unsafe-no-fsync", "--listen-client-urls="+store, "--advertise-client-urls="+store,
		"--listen-peer-urls=http://127.0.0.1:"+peer, "--initial-advertise-peer-urls=http://127.0.0.1:"+peer, "--initial-cluster=default=http://127.0.0.1:"+peer, "--log-level=error")
	key := c.key(t)
	c.write(t, "tokens.csv", token+",admin,1,system:masters\n")
	c.flags = append([]string{
		"--etcd-servers=" + store, "--secure-port=" + secure, "--bind-address=127.0.0.1", "--cert-dir=" + filepath.Join(c.folder, "certs"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--token-auth-file=" + filepath.Join(c.folder, "tokens.csv"), "--service-cluster-ip-range=10.0.0.0/24", "-v=0",
	}, flags...)
	c.apiserver = c.run(t, "kube-apiserver", c.flags...)
	c.API = &rest.Config{Host: "https://127.0.0.1:" + secure, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 1000, Burst: 2000}
	c.config = c.write(t, "kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":%q}}]}`, c.API.Host, token))
	var err error
	if c.Core, err = typed.NewForConfig(c.API); err != nil {
		t.Fatal(err)
	}
	c.Ready(t)
	return c
}

// programs returns the folder of the programs, or skips the test.
func programs(t testing.TB) string {
	t.Helper()
	folder := os.Getenv(Variable)
	if folder == "" {
		t.Skip(Variable + " is not set; make kube builds a cluster's programs and runs this test")
	}
	return folder
}

// Ready waits until the API server answers.
func (c *Cluster) Ready(t testing.TB) {
	t.Helper()
	c.until(t, "the API server is ready", func(ctx context.Context) error {
		return c.Core.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	c.until(t, "there is a namespace", func(ctx context.Context) error {
		_, err := c.Core.Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// until tries until something succeeds.
func (c *Cluster) until(t testing.TB, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// StopAPI kills the API server.
func (c *Cluster) StopAPI(t testing.TB) {
	t.Helper()
	if err := c.apiserver.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.apiserver.Wait() // it was killed
}

// StartAPI starts it again.
func (c *Cluster) StartAPI(t testing.TB) {
	t.Helper()
	c.apiserver = c.run(t, "kube-apiserver", c.flags...)
	c.Ready(t)
}

// Simulate starts the scheduler, the controllers and kwok, which runs nodes.
func (c *Cluster) Simulate(t testing.TB) {
	t.Helper()
	Tool(t, "kwok")
	c.Control(t, "--controllers=*,-serviceaccount-token-controller")
	c.run(t, "kwok", "--kubeconfig="+c.config, "--manage-all-nodes", "--config="+filepath.Join(c.programs, "kwok.yaml"), "--node-lease-duration-seconds=40", "--server-address=127.0.0.1:"+port(t))
}

// Control starts the scheduler, and the controllers with flags.
func (c *Cluster) Control(t testing.TB, flags ...string) {
	t.Helper()
	for _, name := range []string{"kube-scheduler", "kube-controller-manager"} {
		Tool(t, name)
	}
	c.run(t, "kube-scheduler", "--kubeconfig="+c.config, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000")
	c.run(t, "kube-controller-manager", append([]string{"--kubeconfig=" + c.config, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400",
		"--flex-volume-plugin-dir=" + filepath.Join(c.folder, "flex-volumes")}, flags...)...)
}

// Tool returns the path of a program, or skips the test if it is not built.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(programs(t), name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not built; make kube builds it", name)
	}
	return path
}

// Key is the file of the key that signs tokens of service accounts.
func (c *Cluster) Key() string { return filepath.Join(c.folder, "sa.key") }

// Program starts a program that ends with the test.
func (c *Cluster) Program(t testing.TB, path string, args ...string) *exec.Cmd {
	return c.start(t, path, args...)
}

// Kubeconfig is the file with which programs reach the API server.
func (c *Cluster) Kubeconfig() string { return c.config }

func (c *Cluster) run(t testing.TB, name string, args ...string) *exec.Cmd {
	return c.start(t, filepath.Join(c.programs, name), args...)
}

// start starts a program that ends with the test. Its output is shown if the test fails.
func (c *Cluster) start(t testing.TB, path string, args ...string) *exec.Cmd {
	t.Helper()
	log, err := os.CreateTemp(c.folder, filepath.Base(path)+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = c.folder
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the last output of %s:\n%s", filepath.Base(path), excerpt(string(text)))
		}
	})
	return cmd
}

// excerpt returns the last 15 lines of a program's output, after the last 15 warnings and errors
// among the lines before them. Programs of Kubernetes begin those with W and E.
func excerpt(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	rest := lines[:max(0, len(lines)-15)]
	complaints := slices.DeleteFunc(slices.Clone(rest), func(line string) bool {
		return !strings.Contains(line, "ERROR") && !strings.Contains(line, "WARN") && !strings.HasPrefix(line, "E") && !strings.HasPrefix(line, "W")
	})
	complaints = complaints[max(0, len(complaints)-15):]
	return strings.Join(append(complaints, lines[len(rest):]...), "\n")
}

// key writes the key with which the API server signs tokens.
func (c *Cluster) key(t testing.TB) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return c.write(t, "sa.key", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
}

func (c *Cluster) write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(c.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// port returns a free port.
func port(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, number, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// Node returns a node that is ready.
func Node(name string, cpu, memory string, addresses ...corev1.NodeAddress) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"}},
		Status: corev1.NodeStatus{
			Addresses: addresses, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Allocatable: Amounts(cpu, memory), Capacity: Amounts(cpu, memory),
		},
	}
}
