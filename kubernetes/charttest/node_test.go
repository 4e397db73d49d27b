package charttest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/kubernetes/internal/kubetest"
)

// variable names the folder of a cluster's programs and of its machine.
const variable = "MUSTER_KUBELET_BIN"

//go:embed testdata/init.sh
var initScript []byte

// node is a Kubernetes cluster of one real node: containerd and the kubelet run in a virtual
// machine, the rest of the cluster on this one. Its images come from a registry of this
// machine.
type node struct {
	*machine
	*kubetest.Cluster
	whole     testing.TB // the test with all its parts
	authority *authority
	registry  *enginetest.Registry
	api       *kubernetes.Clientset
	secure    string // port of the API server
	helper    []byte // the program testdata/helper
}

// startNode starts a cluster, or skips the test. games are the ports of the node that
// players reach.
func startNode(t testing.TB, games []int) *node {
	t.Helper()
	programs := os.Getenv(variable)
	if programs == "" {
		t.Skip(variable + " is not set; make kubelet builds a node and runs this test")
	}
	if why := missing(); why != "" {
		t.Skip(why)
	}
	t.Setenv(kubetest.Variable, programs)
	n := &node{whole: t, authority: newAuthority(t), registry: enginetest.NewRegistry(t), secure: unused(t, "tcp"), helper: program(t, "github.com/musterhq/muster/kubernetes/charttest/testdata/helper")}
	files := n.files(t, programs)
	pki := filepath.Join(files, "pki")
	proxy := &tunnel{}
	put(t, filepath.Join(files, "egress.yaml"), fmt.Appendf(nil, `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: %s}}}
`, proxy.listen(t)))
	n.Cluster = kubetest.StartWith(t, n.secure, "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
		"--advertise-address="+hostAddress, "--client-ca-file="+pki+"/ca.crt", "--tls-cert-file="+pki+"/server.crt", "--tls-private-key-file="+pki+"/server.key",
		"--kubelet-client-certificate="+pki+"/admin.crt", "--kubelet-client-key="+pki+"/admin.key", "--kubelet-certificate-authority="+pki+"/ca.crt",
		"--egress-selector-config-file="+filepath.Join(files, "egress.yaml"))
	n.Control(t, "--root-ca-file="+pki+"/ca.crt", "--service-account-private-key-file="+n.Key(), "--use-service-account-credentials", "--node-monitor-grace-period=20s")
	ports := []string{"tcp:10250", "tcp:30443"}
	for _, p := range games {
		ports = append(ports, fmt.Sprintf("udp:%d", p))
	}
	n.machine = boot(t, filepath.Join(programs, "machine"), files, ports)
	proxy.set("node-1:10250", n.at("tcp:10250"))
	var err error
	if n.api, err = kubernetes.NewForConfig(n.API); err != nil {
		t.Fatal(err)
	}
	n.until("the node is ready", 4*time.Minute, func(ctx context.Context) (bool, error) {
		node, err := n.api.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == corev1.ConditionTrue, fmt.Errorf("%s: %s", c.Reason, c.Message)
			}
		}
		return false, errors.New("it has no condition yet")
	})
	return n
}

// tunnel leads the API server's connections to the node: an HTTP proxy for CONNECT.
type tunnel struct {
	mu sync.Mutex
	to map[string]string // addresses here, by those that the API server connects to
}

func (p *tunnel) set(address, here string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = map[string]string{address: here}
}

// listen starts the proxy, and returns its socket.
func (p *tunnel) listen(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "proxy") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: p}
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Close()
		os.RemoveAll(folder)
	})
	return socket
}

func (p *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	here := p.to[r.Host]
	p.mu.Unlock()
	up, err := net.Dial("tcp", here)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer up.Close()
	w.WriteHeader(http.StatusOK)
	down, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	copyBoth(up, buffered, down)
}

// patience is how much longer things may take than on a machine that does nothing else: an
// emulated processor is slow.
const patience = 3

// until tries until something is so; the last error says why it is not.
func (n *node) until(what string, long time.Duration, ok func(context.Context) (bool, error)) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience*long)
	defer cancel()
	var last error
	for {
		done, err := ok(ctx)
		if done {
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			n.t.Fatalf("waited in vain until %s: %v", what, last)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// files returns a folder with what the node's machine needs.
func (n *node) files(t testing.TB, programs string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"kube-proxy", "kubelet",
		"node/containerd", "node/containerd-shim-runc-v2", "node/ctr", "node/bridge", "node/host-local", "node/loopback", "node/portmap"} {
		text, err := os.ReadFile(filepath.Join(programs, name))
		if err != nil {
			t.Skip("a program of the node is missing: " + err.Error())
		}
		put(t, filepath.Join(folder, "bin", filepath.Base(name)), text)
	}
	put(t, filepath.Join(folder, "init"), initScript)
	for name, c := range map[string]pair{
		"server":  n.authority.issue(t, "kube-apiserver", "", hostAddress, "127.0.0.1", "10.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
		"admin":   n.authority.issue(t, "admin", "system:masters"),
		"proxy":   n.authority.issue(t, "system:kube-proxy", "system:masters"),
		"node":    n.authority.issue(t, "system:node:node-1", "system:nodes"),
		"kubelet": n.authority.issue(t, "node-1", "", "node-1", nodeAddress),
	} {
		put(t, filepath.Join(folder, "pki", name+".crt"), c.cert)
		put(t, filepath.Join(folder, "pki", name+".key"), c.key)
	}
	put(t, filepath.Join(folder, "pki", "ca.crt"), n.authority.pem)
	for _, name := range []string{"proxy", "node"} {
		putJSON(t, filepath.Join(folder, name+".json"), map[string]any{
			"apiVersion": "v1", "kind": "Config", "current-context": "c",
			"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
			"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": "https://" + hostAddress + ":" + n.secure, "certificate-authority": "/node/pki/ca.crt"}}},
			"users":    []any{map[string]any{"name": "u", "user": map[string]any{"client-certificate": "/node/pki/" + name + ".crt", "client-key": "/node/pki/" + name + ".key"}}},
		})
	}
	putJSON(t, filepath.Join(folder, "kubelet.json"), map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication": map[string]any{"anonymous": map[string]any{"enabled": false}, "webhook": map[string]any{"enabled": true}, "x509": map[string]any{"clientCAFile": "/node/pki/ca.crt"}},
		"authorization":  map[string]any{"mode": "Webhook"}, "cgroupDriver": "cgroupfs", "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"tlsCertFile": "/node/pki/kubelet.crt", "tlsPrivateKeyFile": "/node/pki/kubelet.key", "nodeStatusUpdateFrequency": "5s", "clusterDNS": []string{"10.0.2.3"},
		"evictionHard": map[string]string{"memory.available": "50Mi", "nodefs.available": "2%", "imagefs.available": "2%"},
	})
	pause := n.registry.Push(t, "pause", enginetest.Image{Files: map[string][]byte{"pause": n.helper}, Entrypoint: []string{"/pause"}})
	put(t, filepath.Join(folder, "containerd.toml"), fmt.Appendf(nil, `version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = %q
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = "/node/registries"
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["/node/bin"]
conf_dir = "/node/cni"
`, n.inside(pause)))
	host := n.inside(n.registry.Host)
	put(t, filepath.Join(folder, "registries", host, "hosts.toml"), fmt.Appendf(nil, "server = %q\n[host.%q]\ncapabilities = [\"pull\", \"resolve\"]\n", "http://"+host, "http://"+host))
	putJSON(t, filepath.Join(folder, "cni", "net.conflist"), map[string]any{
		"cniVersion": "1.0.0", "name": "net", "plugins": []any{
			map[string]any{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true, "ipam": map[string]any{
				"type": "host-local", "ranges": []any{[]any{map[string]any{"subnet": "10.88.0.0/16"}}}, "routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
			}},
			map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}},
		},
	})
	return folder
}

// inside returns the name that an image of the registry, or its address, has in the node.
func (n *node) inside(name string) string {
	return strings.Replace(name, "127.0.0.1", hostAddress, 1)
}

func put(t testing.TB, path string, text []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func putJSON(t testing.TB, path string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, text)
}

// authority issues the certificates of a test.
type authority struct {
	pem  []byte
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// pair is a certificate and its key in PEM.
type pair struct{ cert, key []byte }

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), cert: cert, key: key}
}

// issue issues a certificate for a user of a group, or for a server with names.
func (a *authority) issue(t testing.TB, user, group string, names ...string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: user}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})}
}

// client returns how to trust the authority.
func (a *authority) client() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool}
}
