package enginetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Image is an image FROM scratch.
type Image struct {
	Architecture string // default: this machine's
	Files        map[string][]byte
	Entrypoint   []string
	Env          []string
	User         string
	Volumes      []string // paths that become anonymous volumes
}

var puppet = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "puppet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	at := filepath.Join(dir, "puppet")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", at, "github.com/musterhq/muster/agent/engine/enginetest/puppet")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return os.ReadFile(at)
})

// Puppet returns an image with the program puppet, which does what its environment says.
func Puppet(t testing.TB) Image {
	t.Helper()
	program, err := puppet()
	if err != nil {
		t.Fatalf("build puppet: %v", err)
	}
	return Image{Files: map[string][]byte{"puppet": program}, Entrypoint: []string{"/puppet"}}
}

// Registry is a registry of a test, reached over plain HTTP.
type Registry struct {
	Host string // HOST:PORT, the first part of its images' names
}

// Locked returns the same registry at an address where it demands a login.
func (r *Registry) Locked(t testing.TB, name, password string) *Registry {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: r.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if n, p, ok := req.BasicAuth(); !ok || n != name || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return &Registry{Host: server.Listener.Addr().String()}
}

// NewRegistry starts a registry that needs no login.
func NewRegistry(t testing.TB) *Registry {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := listener.Addr().String()
	_ = listener.Close()
	return RegistryAt(t, host)
}

// RegistryAt is like NewRegistry, at an address that is free until the test ends.
func RegistryAt(t testing.TB, host string) *Registry {
	t.Helper()
	if _, err := exec.LookPath("docker-registry"); err != nil {
		t.Skip("docker-registry is not installed; apt-get install docker-registry")
	}
	dir := t.TempDir()
	config := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q}\n", filepath.Join(dir, "data"), host)
	file := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("docker-registry", "serve", file)
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 600 {
		if resp, err := http.Get("http://" + host + "/v2/"); err == nil {
			_ = resp.Body.Close()
			return &Registry{Host: host}
		}
		time.Sleep(50 * time.Millisecond) // it has no event for this
	}
	t.Fatal("the registry does not answer")
	return nil
}

// Push stores an image, and returns its name with its digest.
func (r *Registry) Push(t testing.TB, name string, image Image) string {
	t.Helper()
	architecture := image.Architecture
	if architecture == "" {
		architecture = runtime.GOARCH
	}
	layer := pack(t, image.Files)
	volumes := map[string]struct{}{}
	for _, v := range image.Volumes {
		volumes[v] = struct{}{}
	}
	config := encode(t, map[string]any{
		"architecture": architecture, "os": "linux",
		"config": map[string]any{"Entrypoint": image.Entrypoint, "Env": image.Env, "User": image.User, "Volumes": volumes},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	manifest := encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": map[string]any{"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": digest(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.docker.image.rootfs.diff.tar", "size": len(layer), "digest": digest(layer)}},
	})
	r.blob(t, name, layer)
	r.blob(t, name, config)
	return r.manifest(t, name, manifestType, manifest)
}

// Tag adds a tag to an image that was pushed, and returns the image's name with the tag.
func (r *Registry) Tag(t testing.TB, image, tag string) string {
	t.Helper()
	name, digest, _ := strings.Cut(strings.TrimPrefix(image, r.Host+"/"), "@")
	at := "http://" + r.Host + "/v2/" + name + "/manifests/"
	r.send(t, http.MethodPut, at+tag, manifestType, r.read(t, at+digest))
	return r.Host + "/" + name + ":" + tag
}

// PushIndex stores an index whose only image is for one architecture, and returns its name
// with its digest.
func (r *Registry) PushIndex(t testing.TB, name, architecture, image string) string {
	t.Helper()
	size := len(r.read(t, "http://"+r.Host+"/v2/"+name+"/manifests/"+image[strings.Index(image, "sha256:"):]))
	index := encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": indexType,
		"manifests": []any{map[string]any{"mediaType": manifestType, "size": size, "digest": image[strings.Index(image, "sha256:"):],
			"platform": map[string]any{"architecture": architecture, "os": "linux"}}},
	})
	return r.manifest(t, name, indexType, index)
}

const indexType = "application/vnd.docker.distribution.manifest.list.v2+json"

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

func (r *Registry) blob(t testing.TB, name string, content []byte) {
	t.Helper()
	begun := r.send(t, http.MethodPost, "http://"+r.Host+"/v2/"+name+"/blobs/uploads/", "", nil)
	at := begun.Header.Get("Location")
	join := "?"
	if strings.Contains(at, "?") {
		join = "&"
	}
	r.send(t, http.MethodPut, at+join+"digest="+digest(content), "application/octet-stream", content)
}

func (r *Registry) manifest(t testing.TB, name, kind string, content []byte) string {
	t.Helper()
	r.send(t, http.MethodPut, "http://"+r.Host+"/v2/"+name+"/manifests/"+digest(content), kind, content)
	return r.Host + "/" + name + "@" + digest(content)
}

func (r *Registry) read(t testing.TB, at string) []byte {
	t.Helper()
	resp, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", at, resp.Status, err)
	}
	return content
}

func (r *Registry) send(t testing.TB, method, at, kind string, content []byte) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, at, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s: %s", method, at, resp.Status, body)
	}
	return resp
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func pack(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
