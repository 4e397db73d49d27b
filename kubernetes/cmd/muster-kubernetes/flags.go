package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/version"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/address"
	"github.com/musterhq/muster/internal/release"
	"github.com/musterhq/muster/kubernetes/cluster"
	"github.com/musterhq/muster/kubernetes/pod"
)

type flags struct {
	Endpoint  []string `required:"" short:"e" aliases:"server" env:"MUSTER_ENDPOINT,MUSTER_SERVER" placeholder:"URL" help:"Base URL of the Muster server; several are tried in turn."`
	Plain     bool     `name:"insecure-plain-http" help:"Speak plain HTTP with the server: whoever is in between can have anything run in this cluster."`
	CA        string   `name:"ca" placeholder:"FILE" type:"existingfile" help:"PEM certificates to trust besides the system's."`
	Token     string   `placeholder:"TOKEN" help:"Join token, for the first start ('muster admin join-tokens create' makes one); better as MUSTER_TOKEN from a Secret."`
	TokenFile string   `name:"token-file" placeholder:"FILE" help:"File with the join token; not read any more once the cluster has joined."`

	Kubeconfig  string `name:"kubeconfig" placeholder:"FILE" help:"How to reach the API server, outside of a cluster."`
	Namespace   string `placeholder:"NAME" help:"Namespace of the pods (that of this pod)."`
	Name        string `default:"muster-kubernetes" help:"Name of this agent: of its credential's Secret, its Lease, and a label of its pods (${default})."`
	ClusterName string `name:"cluster-name" placeholder:"NAME" help:"Name of the cluster, for people (the agent's name)."`
	LeaderElect bool   `name:"leader-elect" help:"Only one of several replicas works, the one that holds the Lease."`

	NodeSelector map[string]string `name:"node-selector" placeholder:"KEY=VALUE" help:"Labels of the nodes that run game servers, and that count as the cluster's size (all nodes)."`
	Tolerations  string            `name:"tolerations" placeholder:"JSON" help:"Tolerations of game servers' pods, as a JSON list in the form of the API."`
	PullSecrets  []string          `name:"image-pull-secret" placeholder:"NAME" help:"Secret with which images are pulled; may be repeated."`
	HostPaths    []string          `name:"allow-host-path" placeholder:"DIR" help:"Folder of nodes that mount points of containers may show, with those below it; may be repeated (none)."`
	Capabilities []string          `name:"allow-capability" placeholder:"NAME" help:"Linux capability with which a container could take over its node, such as SYS_PTRACE, that definitions may add; may be repeated (none)."`
	Storage      int               `name:"storage" default:"4096" placeholder:"MIB" help:"What a container may write to its node's disk, and a group to /tmp, in MiB; a pod that writes more is ended; 0: no limit (${default})."`
	Priority     string            `name:"priority-class" placeholder:"NAME" help:"PriorityClass of game servers' pods."`
	Runtime      string            `name:"runtime-class" placeholder:"NAME" help:"RuntimeClass of game servers' pods, such as gVisor's."`
	ReadOnlyRoot bool              `name:"read-only-containers" help:"Keep containers from writing to anything but /tmp and mounts, as games do that log beside their program."`
	NonRoot      bool              `name:"run-as-non-root" help:"Containers whose image runs as root are refused."`
	LostAfter    time.Duration     `name:"node-lost-after" default:"2m" help:"How long a node may not answer before its game servers count as ended (${default})."`

	Ports   string   `default:"20000-29999" placeholder:"FROM-TO" help:"Ports of nodes that games may take (${default})."`
	CPU     float64  `name:"cpu" placeholder:"COUNT" help:"Processors to offer at least: what an autoscaler of the cluster may make of it (what nodes have)."`
	Memory  int      `placeholder:"MIB" help:"Memory to offer at least, in MiB (what nodes have)."`
	IP      []string `name:"ip" placeholder:"ADDRESS" help:"Address that players reach, if it is the same for all nodes: an IPv4 address, an IPv6 address, or both (each node's own)."`
	Rate    float32  `name:"api-rate" default:"100" help:"Requests a second to the API server (${default})."`
	Workers int      `default:"16" help:"Requests to the API server at the same time (${default})."`

	Listen    string `placeholder:"ADDRESS" help:"Where to answer probes: /healthz (nowhere)."`
	LogFormat string `enum:"text,json" default:"text" help:"text or json (${default})."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"debug, info, warn or error (${default})."`
}

func (f *flags) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(f.LogLevel)) // kong has checked it
	o := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, o))
}

// api returns how to reach the API server, and the namespace of the pods.
func (f *flags) api() (*rest.Config, string, error) {
	var rules clientcmd.ClientConfigLoader = &clientcmd.ClientConfigLoadingRules{ExplicitPath: f.Kubeconfig}
	if f.Kubeconfig == "" {
		rules = clientcmd.NewDefaultClientConfigLoadingRules()
	}
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	api, err := config.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("no API server: %w", err)
	}
	namespace := f.Namespace
	if namespace == "" {
		if namespace, _, err = config.Namespace(); err != nil {
			return nil, "", fmt.Errorf("namespace: %w", err)
		}
	}
	api.QPS, api.Burst, api.UserAgent = f.Rate, int(2*f.Rate), "muster-kubernetes"
	return api, namespace, nil
}

// options returns the options of the agent. It asks the API server for its version and the
// Lease.
func (f *flags) options(ctx context.Context, api *rest.Config, namespace string, log *slog.Logger) (o cluster.Options, err error) {
	if problems := validation.IsDNS1123Label(f.Name); len(problems) > 0 {
		return o, fmt.Errorf("name: %q: %s", f.Name, strings.Join(problems, "; "))
	}
	o = cluster.Options{API: api, Secret: f.Name + "-credential", Workers: f.Workers, Log: log}
	if o.Link, err = f.link(log); err != nil {
		return o, err
	}
	if o.Facts, err = f.facts(); err != nil {
		return o, err
	}
	if o.Pods, err = f.pods(namespace); err != nil {
		return o, err
	}
	v, err := serverVersion(ctx, api)
	if err != nil {
		return o, fmt.Errorf("version of the API server: %w", err)
	}
	o.Version = v.GitVersion
	minor, _ := strconv.Atoi(strings.TrimRight(v.Minor, "+"))
	o.Pods.NoPodLimits = v.Major == "1" && minor < 34
	if f.LeaderElect {
		o.Run, err = f.identity(ctx, api, namespace)
	}
	return o, err
}

func (f *flags) link(log *slog.Logger) (o link.Options, err error) {
	o = link.Options{Log: log, Token: f.Token}
	for _, server := range f.Endpoint {
		server = strings.TrimRight(server, "/")
		if err := f.check(server); err != nil {
			return o, err
		}
		o.Servers = append(o.Servers, server)
	}
	if f.TokenFile != "" {
		if f.Token != "" {
			return o, errors.New("token and token-file are both given; leave one out")
		}
		text, err := os.ReadFile(f.TokenFile)
		if err != nil {
			return o, fmt.Errorf("token-file: %w", err)
		}
		o.Token = strings.TrimSpace(string(text))
	}
	if f.CA == "" {
		return o, nil
	}
	pem, err := os.ReadFile(f.CA)
	if err != nil {
		return o, fmt.Errorf("ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return o, fmt.Errorf("ca: %s holds no certificates", f.CA)
	}
	o.TLS = &tls.Config{RootCAs: pool}
	return o, nil
}

// check returns an error if a base URL is invalid.
func (f *flags) check(server string) error {
	u, err := url.Parse(server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !protocol.IsBasePath(u.Path) || u.RawQuery != "":
		return fmt.Errorf("--endpoint: %q is no http:// or https:// URL without query, and without path but /regions/NAME", server)
	case u.Scheme == "http" && !f.Plain && !isLoopback(u.Hostname()):
		return fmt.Errorf("--endpoint: %s is plain HTTP: whoever is in between can have anything run in this cluster; use https://, or say --insecure-plain-http", server)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (f *flags) facts() (protocol.Facts, error) {
	to := protocol.Facts{
		Name: f.ClusterName, Arch: runtime.GOARCH, Version: release.This().Line("muster-kubernetes"), CPUMillis: int(f.CPU * 1000), MemoryMiB: f.Memory,
	}
	if to.Name == "" {
		to.Name = f.Name
	}
	var err1, err2 error
	if to.IPAddress, to.IPv6, err1 = address.Pair(f.IP...); err1 != nil {
		return to, fmt.Errorf("ip: %w", err1)
	}
	first, last, ok := strings.Cut(f.Ports, "-")
	to.PortFrom, err1 = strconv.Atoi(first)
	to.PortTo, err2 = strconv.Atoi(last)
	if !ok || err1 != nil || err2 != nil || to.PortFrom < 1 || to.PortTo < to.PortFrom || to.PortTo > 60000 {
		return to, fmt.Errorf("ports: %q is no range FROM-TO within 1-60000", f.Ports)
	}
	return to, nil
}

func (f *flags) pods(namespace string) (pod.Options, error) {
	o := pod.Options{
		Agent: f.Name, Namespace: namespace, NodeSelector: f.NodeSelector, PullSecrets: f.PullSecrets, HostPaths: f.HostPaths, Capabilities: f.Capabilities,
		Priority: f.Priority, Runtime: f.Runtime, ReadOnlyRoot: f.ReadOnlyRoot, NonRoot: f.NonRoot, LostAfter: f.LostAfter, StorageMiB: f.Storage,
	}
	if f.Storage < 0 {
		return o, fmt.Errorf("storage: %d is below 0", f.Storage)
	}
	if _, err := labels.ValidatedSelectorFromSet(f.NodeSelector); err != nil {
		return o, fmt.Errorf("node-selector: %w", err)
	}
	for _, folder := range f.HostPaths {
		if !path.IsAbs(folder) {
			return o, fmt.Errorf("allow-host-path: %q is not absolute", folder)
		}
	}
	if f.Tolerations != "" {
		var list []corev1.Toleration
		if err := json.Unmarshal([]byte(f.Tolerations), &list); err != nil {
			return o, fmt.Errorf("tolerations: %w", err)
		}
		o.Tolerations = list
	}
	return o, nil
}

// serverVersion asks the API server for its version.
func serverVersion(ctx context.Context, api *rest.Config) (v version.Info, err error) {
	client, err := coordination.NewForConfig(api)
	if err != nil {
		return v, err
	}
	text, err := client.RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}

// identity returns what identifies the replicas to Muster as one agent: the namespace and
// the name of the Lease that only one of them holds.
func (f *flags) identity(ctx context.Context, api *rest.Config, namespace string) (string, error) {
	client, err := coordination.NewForConfig(api)
	if err != nil {
		return "", err
	}
	lease, err := client.Leases(namespace).Get(ctx, f.Name, metav1.GetOptions{})
	if err == nil {
		return string(lease.UID), nil
	}
	return "", nil // the first to lead creates it; another run has its identity
}
