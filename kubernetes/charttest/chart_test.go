package charttest

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/musterhq/muster/kubernetes/internal/kubetest"
)

const folder = "../../charts/muster"

// values are what a user has to say, in YAML.
const required = `
image: {repository: registry.example/muster}
server: {publicURL: "https://muster.example:9443", tls: {secretName: muster-tls}}
`

// everything is a use of all values.
const everything = `
image: {repository: registry.example/muster, tag: v9, pullSecrets: [registry]}
server:
  publicURL: http://muster.example
  insecurePlainHTTP: true
  blobs: {existingClaim: shared}
  extraArgs: [--audit=all]
  extraEnv: [{name: PGPASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]
  service: {type: LoadBalancer, annotations: {a: b}}
  nodeSelector: {pool: system}
  tolerations: [{key: system, operator: Exists}]
  priorityClassName: system-cluster-critical
  metricsPort: 0
kubernetes:
  insecurePlainHTTP: true
  caSecretName: ca
  nodeSelector: {pool: games, kubernetes.io/arch: amd64}
  tolerations: [{key: games, operator: Exists, effect: NoSchedule}]
  imagePullSecrets: [registry]
  allowHostPaths: [/var/games]
  readOnlyContainers: true
  allowCapabilities: [SYS_PTRACE]
  priorityClassName: games
  runtimeClassName: gvisor
  cpu: 400
  memoryMiB: 800000
  extraArgs: [--log-level=debug]
agents: {enabled: true, insecurePlainHTTP: true, nodeSelector: {pool: builds}, tolerations: [{operator: Exists}]}
beacon: {enabled: true, location: eu-central-1, keySecretName: beacon}
`

func load(t testing.TB) *chart.Chart {
	t.Helper()
	c, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render renders the chart as helm template does, with the check of the schema.
func render(t testing.TB, values string) (map[string]string, error) {
	t.Helper()
	var given chartutil.Values
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	capabilities := *chartutil.DefaultCapabilities
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.36.3", Major: "1", Minor: "36"}
	all, err := chartutil.ToRenderValues(load(t), given, chartutil.ReleaseOptions{Name: "muster", Namespace: "muster", IsInstall: true}, &capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(load(t), all)
}

// objects returns the objects of the rendered chart, namespaces first, each decoded strictly
// by its type of the API.
func objects(t testing.TB, values string) []*unstructured.Unstructured {
	t.Helper()
	files, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var list []*unstructured.Unstructured
	for name, text := range files {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for _, document := range strings.Split(text, "\n---\n") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			if _, _, err := strict.Decode([]byte(document), nil, nil); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, document)
				continue
			}
			text, err := yaml.YAMLToJSON([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			list = append(list, object)
		}
	}
	slices.SortFunc(list, func(a, b *unstructured.Unstructured) int {
		return strings.Compare(order(a), order(b))
	})
	return list
}

func order(o *unstructured.Unstructured) string {
	if o.GetKind() == "Namespace" {
		return "0"
	}
	return "1" + o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
}

func TestChart_Lints(t *testing.T) {
	for _, values := range []string{required, everything} {
		given, err := chartutil.ReadValues([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.All(folder, given, "muster", true).Messages {
			if m.Severity >= support.WarningSev {
				t.Error(m)
			}
		}
	}
}

func TestChart_Renders(t *testing.T) {
	for name, tt := range map[string]struct {
		values string
		kinds  string
	}{
		"required":   {required, "Namespace ClusterRole ClusterRoleBinding Deployment Deployment NetworkPolicy NetworkPolicy NetworkPolicy PersistentVolumeClaim PodDisruptionBudget PodDisruptionBudget Role RoleBinding Service ServiceAccount ServiceAccount"},
		"everything": {everything, "Namespace ClusterRole ClusterRoleBinding DaemonSet DaemonSet Deployment Deployment NetworkPolicy NetworkPolicy NetworkPolicy PodDisruptionBudget PodDisruptionBudget Role RoleBinding Service ServiceAccount ServiceAccount ServiceAccount"},
		"joins only": {"image: {repository: x}\nserver: {enabled: false}\nkubernetes: {server: 'https://muster.example', replicas: 1, createNamespace: false}\nnetworkPolicy: {enabled: false}", "ClusterRole ClusterRoleBinding Deployment PodDisruptionBudget Role RoleBinding ServiceAccount"},
	} {
		var kinds []string
		for _, o := range objects(t, tt.values) {
			kinds = append(kinds, o.GetKind())
		}
		if got := strings.Join(kinds, " "); got != tt.kinds {
			t.Errorf("%s: it has %s", name, got)
		}
	}
}

// The data directory must be the server's own: the folder of a volume belongs to root, and
// is open to others.
func TestChart_DataDirectory(t *testing.T) {
	files, err := render(t, required)
	if err != nil {
		t.Fatal(err)
	}
	if text := files["muster/templates/server.yaml"]; !strings.Contains(text, "- --data=/data/muster\n") || !strings.Contains(text, "mountPath: /data}") {
		t.Errorf("the server's data directory is not a folder of its volume:\n%s", text)
	}
	if text := files["muster/templates/NOTES.txt"]; !strings.Contains(text, "admin keys first --data /data/muster\n") {
		t.Errorf("the notes name another data directory:\n%s", text)
	}
}

// rendered decodes the object of a kind and name into one of its type.
func rendered(t *testing.T, values, kind, name string, into any) {
	t.Helper()
	for _, o := range objects(t, values) {
		if o.GetKind() == kind && o.GetName() == name {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
}

// Metrics are for the release's namespace, unless the values say who else may read them.
func TestChart_Metrics(t *testing.T) {
	for values, want := range map[string]string{
		required: `[{"podSelector":{}}]`,
		required + "networkPolicy: {metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}": `[{"namespaceSelector":{"matchLabels":{"name":"monitoring"}}}]`,
	} {
		var policy networking.NetworkPolicy
		rendered(t, values, "NetworkPolicy", "muster-server", &policy)
		found := false
		for _, rule := range policy.Spec.Ingress {
			if len(rule.Ports) == 1 && rule.Ports[0].Port.IntValue() == 9100 {
				found = true
				if from, _ := json.Marshal(rule.From); string(from) != want {
					t.Errorf("metrics are open to %s, want %s", from, want)
				}
			}
		}
		if !found {
			t.Errorf("no rule is about metrics: %+v", policy.Spec.Ingress)
		}
	}
}

// Games of plain builds share their node's network: they are isolated unless the values say
// otherwise, and their agent has what that needs.
func TestChart_AgentsIsolate(t *testing.T) {
	enabled := required + "agents: {enabled: true"
	for values, isolated := range map[string]bool{enabled + "}": true, enabled + ", isolation: required}": true, enabled + ", isolation: auto}": false} {
		var set apps.DaemonSet
		rendered(t, values, "DaemonSet", "muster-agent", &set)
		spec := set.Spec.Template.Spec
		agent := spec.Containers[0]
		if got := slices.Contains(agent.Args, "--isolation=required"); got != isolated {
			t.Errorf("%s: the agent has %v", values, agent.Args)
		}
		s := agent.SecurityContext
		if got := s.Privileged != nil && *s.Privileged; got != isolated {
			t.Errorf("%s: the agent is privileged: %v", values, got)
		}
		groups := slices.ContainsFunc(spec.Volumes, func(v core.Volume) bool {
			return v.HostPath != nil && v.HostPath.Path == "/sys/fs/cgroup" && slices.ContainsFunc(agent.VolumeMounts, func(m core.VolumeMount) bool {
				return m.Name == v.Name && m.MountPath == "/sys/fs/cgroup" && !m.ReadOnly
			})
		})
		if groups != isolated {
			t.Errorf("%s: the agent has the node's control groups: %v", values, groups)
		}
	}
}

func TestChart_Refuses(t *testing.T) {
	for values, want := range map[string]string{
		"server: {publicURL: 'https://muster.example', tls: {secretName: x}}": "image.repository is required",
		"image: {repository: x}":                                                            "server.tls.secretName is required",
		required + "surprise: 1":                                                            "surprise",
		required + "kubernetes: {namespace: muster}":                                        "must not be the release's",
		required + "kubernetes: {ports: all}":                                               "ports",
		"image: {repository: x}\nserver: {replicas: 0}":                                     "replicas",
		"image: {repository: x}\nserver: {publicURL: muster.example, tls: {secretName: x}}": "publicURL",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", values, err, want)
		}
	}
}

// A real API server takes every object as it is, and muster-kubernetes may do there what it
// must, and nothing else.
func TestChart_Applies(t *testing.T) {
	k := kubetest.Start(t)
	for _, values := range []string{required, everything} {
		apply(t, k, "muster", "v1", "namespaces", "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "muster"}})
		applyChart(t, k, values)
	}
	as := rest.CopyConfig(k.API)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:muster-games:muster-kubernetes", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	client, err := typed.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		verb, group, resource, namespace string
		may                              bool
	}{
		{"get", "", "nodes", "", true}, {"watch", "", "nodes", "", true}, {"patch", "", "nodes", "", false},
		{"create", "", "pods", "muster-games", true}, {"watch", "", "pods", "muster-games", true}, {"deletecollection", "", "pods", "muster-games", true}, {"patch", "", "pods", "muster-games", true},
		{"get", "", "pods/log", "muster-games", true}, {"create", "", "pods/exec", "muster-games", false}, {"create", "", "pods", "muster", false}, {"list", "", "pods", "", false},
		{"update", "", "secrets", "muster-games", true}, {"watch", "", "secrets", "muster-games", true}, {"get", "", "secrets", "muster", false}, {"list", "", "secrets", "", false},
		{"update", "coordination.k8s.io", "leases", "muster-games", true}, {"create", "rbac.authorization.k8s.io", "roles", "muster-games", false},
	} {
		if got := allowed(t, client, tt.verb, tt.group, tt.resource, tt.namespace); got != tt.may {
			t.Errorf("muster-kubernetes may %s %s in %q: %v, want %v", tt.verb, tt.resource, tt.namespace, got, tt.may)
		}
	}
	if _, err := client.Secrets("muster").Get(t.Context(), "muster-master-key", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it reads the master key: %v", err)
	}
}

// allowed asks the API server what a client may do.
func allowed(t *testing.T, client typed.CoreV1Interface, verb, group, resource, namespace string) bool {
	t.Helper()
	resource, sub, _ := strings.Cut(resource, "/")
	body := fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":%q,"group":%q,"resource":%q,"subresource":%q,"namespace":%q}}}`, verb, group, resource, sub, namespace)
	text, err := client.RESTClient().Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").SetHeader("Content-Type", "application/json").Body([]byte(body)).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var review struct{ Status struct{ Allowed bool } }
	if err := json.Unmarshal(text, &review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// plural returns the name of a kind's resource.
func plural(kind string) string {
	if before, ok := strings.CutSuffix(kind, "y"); ok {
		return before + "ies"
	}
	return kind + "s"
}

// applyChart applies the chart with values.
func applyChart(t testing.TB, k *kubetest.Cluster, values string) {
	t.Helper()
	for _, o := range objects(t, values) {
		gvk := o.GroupVersionKind()
		apply(t, k, o.GetName(), gvk.GroupVersion().String(), strings.ToLower(plural(gvk.Kind)), o.GetNamespace(), o.Object)
	}
}

// apply applies an object, with the API server's strict check of fields.
func apply(t testing.TB, k *kubetest.Cluster, name, version, resource, namespace string, object map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	at := "/apis/" + version
	if version == "v1" {
		at = "/api/v1"
	}
	if namespace != "" {
		at += "/namespaces/" + namespace
	}
	err = k.Core.RESTClient().Patch("application/apply-patch+yaml").AbsPath(at+"/"+resource+"/"+name).
		Param("fieldManager", "test").Param("force", "true").Param("fieldValidation", "Strict").Body(text).Do(context.WithoutCancel(t.Context())).Error()
	if err != nil {
		t.Errorf("apply %s %s: %v", resource, name, err)
	}
}
