package registry

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sum = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestParse(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Reference{
		"arena":                       {Host: "docker.io", Repository: "library/arena", Tag: "latest"},
		"studio/arena:2":              {Host: "docker.io", Repository: "studio/arena", Tag: "2"},
		"localhost/arena":             {Host: "localhost", Repository: "arena", Tag: "latest"},
		"localhost:5000/a/b:v1":       {Host: "localhost:5000", Repository: "a/b", Tag: "v1"},
		"r.example/a@" + sum:          {Host: "r.example", Repository: "a", Digest: sum},
		"r.example:5000/a:1@" + sum:   {Host: "r.example:5000", Repository: "a", Tag: "1", Digest: sum},
		"1.dkr.ecr.x.amazonaws.com/g": {Host: "1.dkr.ecr.x.amazonaws.com", Repository: "g", Tag: "latest"},
	} {
		if got, err := Parse(name); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "/", "r.example/", "Arena", "a:", "a:-x", "a@sha256:1", "a@" + strings.ToUpper(sum), "r.example/../a", "r.example:port/a", "a//b", "-.x/a", "a@b@" + sum} {
		if got, err := Parse(name); err == nil {
			t.Errorf("%q is read as %+v", name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("r.example:5000/a/b:1@" + sum)
	f.Fuzz(func(t *testing.T, name string) {
		r, err := Parse(name)
		if err == nil && (r.Tag == "" && r.Digest == "" || strings.ContainsAny(r.Host+r.Repository+r.Tag, "@?#% \\") || strings.Contains(r.Repository, "..")) {
			t.Errorf("%q is %+v", name, r)
		}
	})
}

// serve starts a registry on a loopback address and returns its HOST:PORT.
func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestResolve_ByHeaderOrContent(t *testing.T) {
	t.Parallel()
	const manifest = `{"schemaVersion":2}`
	of := sha256.Sum256([]byte(manifest))
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "image.index") {
			t.Errorf("Accept is %q", r.Header.Get("Accept"))
		}
		if r.URL.Path == "/v2/a/manifests/1" {
			w.Header().Set("Docker-Content-Digest", sum)
		}
		if r.URL.Path != "/v2/a/manifests/3" {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json; charset=utf-8")
		}
		_, _ = w.Write([]byte(manifest))
	})
	for image, want := range map[string]string{
		host + "/a:1": sum, host + "/a:2": "sha256:" + hex.EncodeToString(of[:]), "unreachable.invalid/a@" + sum: sum,
	} {
		if got, err := New(Options{}).Resolve(t.Context(), image); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %s", image, got, err, want)
		}
	}
	final(t, New(Options{}), host+"/a:3", "no image's manifest") // a page of text
}

// What is wrong with a host that is no registry is not told to callers.
func TestResolve_Vague(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("SSH-2.0-secret\r\n"))
			conn.Close()
		}
	}()
	missing := filepath.Join(t.TempDir(), "config.json")
	for _, c := range []struct {
		o           Options
		image, want string
	}{
		{Options{}, l.Addr().String() + "/a", "registry " + l.Addr().String() + " cannot be reached: it does not answer as a registry does"},
		{Options{}, "unreachable.invalid/a", "registry unreachable.invalid cannot be reached: its name is not known"},
		// The address at which clouds hand out credentials gets no request.
		{Options{Plain: []string{"169.254.169.254"}}, "169.254.169.254/a", "registry 169.254.169.254 cannot be reached: Muster sends nothing to link-local, multicast and unspecified addresses"},
		{Options{Credentials: missing}, "r.example/a", "this server's credentials for registries cannot be read"},
	} {
		_, err := New(c.o).Resolve(t.Context(), c.image)
		if err == nil || err.Error() != c.want || errors.Unwrap(err) == nil {
			t.Errorf("%s: %v (%v), want %s", c.image, err, errors.Unwrap(err), c.want)
		}
	}
}

// A registry that offers several ways to authenticate is asked in the one that works.
func TestResolve_Challenges(t *testing.T) {
	t.Parallel()
	var host string
	host = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			_, _ = w.Write([]byte(`{"token":"t1"}`))
		case r.Header.Get("Authorization") == "Bearer t1":
			w.Header().Set("Docker-Content-Digest", sum)
		default:
			w.Header().Add("Www-Authenticate", `Basic realm="games"`)
			w.Header().Add("Www-Authenticate", `Bearer realm="http://`+host+`/token"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	if got, err := New(Options{}).Resolve(t.Context(), host+"/a:1"); err != nil || got != sum {
		t.Errorf("%q, %v", got, err)
	}
}

// A registry demands a token, which its token server issues for the right password only.
func TestResolve_Token(t *testing.T) {
	t.Parallel()
	var host string
	host = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch name, password, _ := r.BasicAuth(); {
		case r.URL.Path == "/token" && name == "ana" && password == "secret" && r.FormValue("scope") == "repository:a:pull" && r.FormValue("service") == "games":
			_, _ = w.Write([]byte(`{"token":"t1"}`))
		case r.URL.Path == "/token":
			w.WriteHeader(http.StatusForbidden)
		case r.Header.Get("Authorization") == "Bearer t1":
			w.Header().Set("Docker-Content-Digest", sum)
		default:
			w.Header().Set("Www-Authenticate", `Bearer realm="http://`+host+`/token",service="games"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	file := filepath.Join(t.TempDir(), "config.json")
	auth := base64.StdEncoding.EncodeToString([]byte("ana:secret"))
	if err := os.WriteFile(file, []byte(`{"auths":{"`+host+`":{"auth":"`+auth+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := New(Options{Credentials: file}).Resolve(t.Context(), host+"/a:1"); err != nil || got != sum {
		t.Errorf("with credentials: %q, %v", got, err)
	}
	final(t, New(Options{}), host+"/a:1", "no credentials for "+host)
}

func final(t *testing.T, c *Client, image string, parts ...string) {
	t.Helper()
	_, err := c.Resolve(t.Context(), image)
	if _, ok := errors.AsType[*Refused](err); !ok {
		t.Errorf("%s: %v, want a refusal", image, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v; want %q in it", image, err, part)
		}
	}
}

func TestResolve_Refusals(t *testing.T) {
	t.Parallel()
	var asked bool
	elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/missing/"):
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(r.URL.Path, "/moved/"):
			http.Redirect(w, r, "http://"+elsewhere+"/", http.StatusFound)
		case strings.Contains(r.URL.Path, "/strange/"):
			w.Header().Set("Docker-Content-Digest", "md5:1")
		case strings.Contains(r.URL.Path, "/outside/"):
			w.Header().Set("Www-Authenticate", `Bearer realm="http://169.254.169.254/latest"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "/negotiate/"):
			w.Header().Set("Www-Authenticate", "Negotiate")
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "/busy/"):
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	c := New(Options{})
	final(t, c, host+"/missing:1", "HTTP 404", "no such repository or tag")
	final(t, c, host+"/moved:1", "HTTP 302", "redirects are not followed")
	final(t, c, host+"/strange:1", "not sha256")
	final(t, c, host+"/outside:1", "not https")
	final(t, c, host+"/negotiate:1", "does not know")
	if asked {
		t.Error("a redirect was followed")
	}
	_, err := c.Resolve(t.Context(), host+"/busy:1")
	if _, ok := errors.AsType[*Refused](err); ok || err == nil || !strings.Contains(err.Error(), "HTTP 503") {
		t.Errorf("a busy registry: %v, want an error that may pass", err)
	}
}

// Of what a host answers, nothing but its status and codes is repeated.
func TestCodes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"errors":[{"code":"MANIFEST_UNKNOWN","message":"secret"}]}`: " MANIFEST_UNKNOWN",
		`{"errors":[{"code":"the secret is 1"}]}`:                     "",
		`secret`: "",
		`{"errors":[{"code":"` + strings.Repeat("A", 41) + `"}]}`: "",
	} {
		if got := codes(strings.NewReader(answer)); got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}
