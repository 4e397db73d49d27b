package charttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/kubernetes/internal/kubetest"
	"github.com/musterhq/muster/kubernetes/pod"
	"github.com/musterhq/muster/test/document"
)

// guide is a reader of docs/kubernetes.md, who types its commands at a shell.
type guide struct {
	t      *testing.T
	blocks []document.Block
	dir    string
	env    []string
	put    []string // old and new text, in turn
}

// newGuide opens the guide before its first block of those that begin with one of the texts.
func newGuide(t *testing.T, begins ...string) *guide {
	t.Helper()
	g := &guide{t: t, dir: t.TempDir()}
	for _, b := range document.Blocks(t, "docs/kubernetes.md") {
		for _, text := range begins {
			if strings.HasPrefix(b.Text, text) {
				g.blocks = append(g.blocks, b)
			}
		}
	}
	bin := filepath.Join(g.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	g.env = slices.DeleteFunc(os.Environ(), func(v string) bool { // what a reader has not set
		return slices.ContainsFunc([]string{"AWS_", "MUSTER_", "HELM_", "KUBE", "XDG_"}, func(prefix string) bool { return strings.HasPrefix(v, prefix) })
	})
	g.env = append(g.env, "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+g.dir)
	t.Cleanup(func() {
		if len(g.blocks) > 0 && !t.Failed() && !t.Skipped() {
			t.Errorf("docs/kubernetes.md:%d was not typed:\n%s", g.blocks[0].Line, g.blocks[0].Text)
		}
	})
	return g
}

// link puts a file or a program into the reader's folder.
func (g *guide) link(to, name string) {
	g.t.Helper()
	if err := os.Symlink(to, filepath.Join(g.dir, name)); err != nil {
		g.t.Fatal(err)
	}
}

// puts has the reader type another text in place of one of the guide.
func (g *guide) puts(old, by string) { g.put = append(g.put, old, by) }

// next returns the text of the next block.
func (g *guide) next(begins string) string {
	g.t.Helper()
	if len(g.blocks) == 0 || !strings.HasPrefix(g.blocks[0].Text, begins) {
		g.t.Fatalf("the next block does not begin with %q: %+v", begins, g.blocks)
	}
	text := g.blocks[0].Text
	g.blocks = g.blocks[1:]
	return text
}

// types types commands, and returns what they print. The test fails with the first that fails.
func (g *guide) types(text string) string {
	g.t.Helper()
	out, err := g.try("set -e\n" + text)
	if err != nil {
		g.t.Fatalf("%s\nends with %v:\n%s", text, err, out)
	}
	return out
}

// try types commands that may fail.
func (g *guide) try(text string) (string, error) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.NewReplacer(g.put...).Replace(text))
	cmd.Dir, cmd.Env = g.dir, g.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the shell has started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// prints fails the test if a text does not have the others.
func (g *guide) prints(out string, texts ...string) {
	g.t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			g.t.Errorf("no %q in\n%s", text, out)
		}
	}
}

// until tries until something is so.
func (g *guide) until(what string, ok func() error) {
	g.t.Helper()
	wait.Within(g.t, 3*wait.Patience(), what, ok)
}

// The guide is typed with kubectl and Helm's program: the chart is installed in a real cluster,
// whose node runs the programs of the pods as processes. What Helm prints is typed too, the
// cluster joins, and its fleet has a game session.
func TestGuide(t *testing.T) {
	for _, program := range []string{"openssl", "aws", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	programs := map[string]string{}
	for name, variable := range map[string]string{"muster": "MUSTER_BIN", "muster-kubernetes": "MUSTER_KUBERNETES_BIN", "arena": "ARENA_BIN"} {
		if programs[name] = os.Getenv(variable); programs[name] == "" {
			t.Skip(variable + " is not set; make kube runs this test")
		}
	}
	g := newGuide(t, "kubectl create namespace", "export AWS_ENDPOINT_URL", "muster hosts")
	for _, tool := range []string{"kubectl", "helm"} {
		g.link(kubetest.Tool(t, tool), "bin/"+tool)
	}
	k := kubetest.Start(t)
	g.link(programs["muster"], "bin/muster")
	g.link(filepath.Join(document.Top(t), "charts"), "charts")
	postgres := startPostgres(t)
	k.Control(t, "--controllers=*,-serviceaccount-token-controller")
	authority := newAuthority(t)
	trust := filepath.Join(g.dir, "authorities.pem")
	put(t, trust, authority.pem)
	image, port := "registry.example/arena@sha256:"+strings.Repeat("ab", 32), gamePort(t)
	n := startProcesses(t, k, trust, map[string][]string{
		"/muster": {programs["muster"]}, "/muster-kubernetes": {programs["muster-kubernetes"]}, image: {programs["arena"], "server", "--port=" + strconv.Itoa(port)},
	})
	url := n.entrance()
	cert := authority.issue(t, "muster", "", "127.0.0.1")
	put(t, filepath.Join(g.dir, "tls.crt"), cert.cert)
	put(t, filepath.Join(g.dir, "tls.key"), cert.key)
	put(t, filepath.Join(g.dir, "kubeconfig"), kubeconfig(k.API.Host, k.API.BearerToken))
	g.env = append(g.env, "KUBECONFIG="+filepath.Join(g.dir, "kubeconfig"), "SSL_CERT_FILE="+trust, "AWS_CA_BUNDLE="+trust)
	g.puts("https://muster.example:9443", url)
	g.puts("postgres://muster:…@db.example/muster?sslmode=verify-full", postgres.URL)

	_, err := k.Core.PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "blobs"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/blobs"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := g.types(g.next("kubectl create namespace"))
	g.prints(out, "namespace/muster created", "secret/muster-tls created", "STATUS: deployed")
	g.notes(out)
	g.pushed(n)

	g.until("muster-kubernetes says that it has no token", func() error {
		out, err := g.try("kubectl -n muster-games logs --selector app.kubernetes.io/component=kubernetes --tail -1")
		if err == nil && !strings.Contains(out, "give a join token") {
			err = errors.New(out)
		}
		return err
	})
	join, rest, found := strings.Cut(g.next("export AWS_ENDPOINT_URL"), "kubectl")
	if !found {
		t.Fatal("the block has no kubectl")
	}
	g.joins(out, join, "kubectl"+rest)
	token := regexp.MustCompile(`join-[0-9A-Za-z_-]+`).FindString(g.types(join))
	g.puts("join-…", token)
	g.prints(g.types("kubectl"+rest), "secret/muster-join-token created", "deployment.apps/muster-kubernetes restarted")
	g.until("the cluster is a host that is connected", func() error {
		out, err := g.try("muster hosts --status connected")
		if err == nil && !strings.Contains(out, "muster-kubernetes") {
			err = errors.New(out)
		}
		return err
	})
	g.hosts(image, port, url, authority)
}

// notes types what Helm prints after an installation, up to the login.
func (g *guide) notes(out string) {
	g.t.Helper()
	var typed strings.Builder
	for line := range strings.Lines(out) {
		if command, ok := strings.CutPrefix(line, "  "); ok {
			typed.WriteString(command)
		}
		if strings.HasPrefix(line, "  muster login") {
			break
		}
	}
	g.prints(typed.String(), "kubectl -n muster rollout status", "muster login "+strings.NewReplacer(g.put...).Replace("https://muster.example:9443"))
	printed, err := g.try(typed.String()) // all replicas but one have no key
	if err != nil {
		g.t.Fatalf("%s\nends with %v:\n%s", &typed, err, printed)
	}
	g.prints(printed, "successfully rolled out", "admin-credentials does not exist")
	g.prints(g.types("muster admin keys list"), "first")
}

// joins checks that Helm prints the same commands by which the cluster joins as the guide.
func (g *guide) joins(out, join, rest string) {
	g.t.Helper()
	_, create, _ := strings.Cut(join, "\nmuster ")
	printed := strings.NewReplacer("\n  ", "\n", "NAME", "custom-eu", "TOKEN", "join-…").Replace(out)
	g.prints(printed, "\nmuster "+create+rest)
}

// pushed checks that the pods of the chart have the image that the guide pushes.
func (g *guide) pushed(n *processes) {
	g.t.Helper()
	_, image, _ := strings.Cut(strings.TrimSpace(document.Find(g.t, "docs/kubernetes.md", "sh", "make image").Text), "PUSH=")
	for _, namespace := range []string{servers, games} {
		list, err := n.Core.Pods(namespace).List(g.t.Context(), metav1.ListOptions{})
		if err != nil {
			g.t.Fatal(err)
		}
		if len(list.Items) < 2 {
			g.t.Errorf("%s has %d pods", namespace, len(list.Items))
		}
		for _, p := range list.Items {
			if got := p.Spec.Containers[0].Image; got != image {
				g.t.Errorf("the pod %s has the image %s; the guide pushes %s", p.Name, got, image)
			}
		}
	}
}

// hosts types the last block, while a game server of the cluster hosts a game session.
func (g *guide) hosts(image string, port int, url string, authority *authority) {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "admin-credentials"))
	if err != nil {
		g.t.Fatal(err)
	}
	key := func(name string) string {
		m := regexp.MustCompile(name + ` = (\S+)`).FindSubmatch(text)
		if m == nil {
			g.t.Fatalf("no %s in admin-credentials", name)
		}
		return string(m[1])
	}
	muster := &client.Client{
		Endpoint: url, HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: authority.client()}, Timeout: time.Minute},
		Credentials: client.Credentials{AccessKeyID: key("aws_access_key_id"), SecretAccessKey: key("aws_secret_access_key")},
	}
	call := func(operation string, in, out any) {
		g.t.Helper()
		if err := muster.Call(g.t.Context(), operation, in, out); err != nil {
			g.t.Fatalf("%s: %v", operation, err)
		}
	}
	call("CreateContainerGroupDefinition", map[string]any{
		"Name": "arena", "OperatingSystem": "AMAZON_LINUX_2023", "TotalMemoryLimitMebibytes": 128, "TotalVcpuLimit": 0.25,
		"GameServerContainerDefinition": map[string]any{
			"ContainerName": "game", "ImageUri": image, "ServerSdkVersion": "5.4.0",
			"PortConfiguration": map[string]any{"ContainerPortRanges": []any{map[string]any{"FromPort": port, "ToPort": port, "Protocol": "UDP"}}},
		},
	}, nil)
	var made struct {
		ContainerFleet struct{ FleetId string }
	}
	call("CreateContainerFleet", map[string]any{
		"FleetRoleArn": "arn:aws:iam::000000000000:role/none", "GameServerContainerGroupDefinitionName": "arena", "GameServerContainerGroupsPerInstance": 1,
		"Locations": []any{map[string]any{"Location": "custom-eu"}},
	}, &made)
	var session struct{ GameSession game }
	g.until("there is a game session", func() error {
		return muster.Call(g.t.Context(), "CreateGameSession", map[string]any{"FleetId": made.ContainerFleet.FleetId, "Location": "custom-eu", "MaximumPlayerSessionCount": 4}, &session)
	})
	lines := strings.Split(strings.TrimSpace(g.next("muster hosts")), "\n")
	if len(lines) != 4 {
		g.t.Fatalf("the block has %d commands", len(lines))
	}
	g.prints(g.types(lines[0]), "custom-eu", "muster-kubernetes")
	var row []string
	g.until("a pod hosts the game session", func() error {
		out := g.types(lines[1])
		g.prints(out, "FLEET", "BUSY")
		for line := range strings.Lines(out) {
			if cells := strings.Fields(line); len(cells) > 2 && cells[len(cells)-2] == pod.Label(made.ContainerFleet.FleetId) && cells[len(cells)-1] == "true" {
				row = cells
				return nil
			}
		}
		return fmt.Errorf("no pod is busy:\n%s", out)
	})
	if !regexp.MustCompile(`^i-[0-9a-z]+-\d+-\d+$`).MatchString(row[0]) {
		g.t.Errorf("the guide calls pods i-…-0-3; this one is %s", row[0])
	}
	g.puts("i-…-0-3", row[0])
	g.until("the game server's log has the game session", func() error {
		if out := g.types(lines[2]); !strings.Contains(out, session.GameSession.GameSessionId) {
			return errors.New(out)
		}
		return nil
	})
	out := g.types(lines[3])
	g.prints(out, "this replica leads", "the leader is known")
	for line := range strings.Lines(out) {
		name, entry, _ := strings.Cut(line, "] ")
		last := strings.HasPrefix(entry, "muster-kubernetes: ") // of one that had no token
		if !strings.HasPrefix(name, "[pod/muster-kubernetes-") || !last && !json.Valid([]byte(entry)) {
			g.t.Errorf("muster-kubernetes logs a line that is not JSON: %s", line)
		}
	}
}

// gamePort returns a UDP port that a game server may have.
func gamePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		if port, err := strconv.Atoi(unused(t, "udp")); err == nil && port <= 60000 {
			return port
		}
	}
	t.Fatal("every free port is above 60000")
	return 0
}
