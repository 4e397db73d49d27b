package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/network"
	registrytypes "github.com/moby/moby/api/types/registry"
)

func TestLayers_PercentGrowsToTheEnd(t *testing.T) {
	var l layers
	for _, step := range []struct {
		line string
		want int
	}{
		{`{"status":"Pulling from game","id":"sha256:1"}`, 0},
		{`{"status":"Pulling fs layer","id":"a"}`, 0},
		{`{"status":"Downloading","progressDetail":{"current":50,"total":100},"id":"a"}`, 50},
		{`{"status":"Downloading","progressDetail":{"current":0,"total":100},"id":"b"}`, 50}, // never falls
		{`{"status":"Download complete","id":"a"}`, 50},
		{`{"status":"Downloading","progressDetail":{"current":50,"total":100},"id":"b"}`, 75},
		{`{"status":"Extracting","progressDetail":{"current":1,"total":100},"id":"a"}`, 75},
		{`{"status":"Pull complete","id":"b"}`, 99},
	} {
		var m jsonstream.Message
		if err := json.Unmarshal([]byte(step.line), &m); err != nil {
			t.Fatal(err)
		}
		if got := l.add(m); got != step.want {
			t.Errorf("after %s: %d percent, want %d", step.line, got, step.want)
		}
	}
}

func FuzzLayers(f *testing.F) {
	f.Add(`{"status":"Downloading","progressDetail":{"current":50,"total":100},"id":"a"}` + "\n" + `{"status":"Download complete","id":"a"}`)
	f.Add(`{"status":"Downloading","progressDetail":{"current":-9223372036854775808,"total":9223372036854775807},"id":"a"}`)
	f.Fuzz(func(t *testing.T, stream string) {
		var l layers
		last := 0
		decoder := json.NewDecoder(strings.NewReader(stream))
		for {
			var m jsonstream.Message
			if decoder.Decode(&m) != nil {
				return
			}
			got := l.add(m)
			if got < last || got > 99 || len(l.all) > maxLayers {
				t.Fatalf("%d percent after %d, %d layers", got, last, len(l.all))
			}
			last = got
		}
	})
}

func TestPullError_Reasons(t *testing.T) {
	for text, want := range map[string]Reason{
		"write /var/lib/docker/tmp/x: no space left on device":                                                                                  ReasonDisk,
		"no matching manifest for linux/amd64 in the manifest list entries":                                                                     ReasonArchitecture,
		"pull access denied for x, repository does not exist or may require 'docker login': denied: requested access to the resource is denied": ReasonAuth,
		"unauthorized: authentication required":                                                                                                 ReasonAuth,
		"manifest unknown: manifest unknown":                                                                                                    ReasonName,
		"Get https://r/v2/: dial tcp: lookup r: no such host":                                                                                   ReasonUnreachable,
		"Get https://r/v2/: x509: certificate signed by unknown authority":                                                                      ReasonUnreachable,
		"toomanyrequests: You have reached your pull rate limit":                                                                                ReasonUnreachable,
		"received unexpected HTTP status: 503 Service Unavailable":                                                                              ReasonUnreachable,
		"something else": ReasonOther,
	} {
		var failed *PullError
		if err := pullError("image", errors.New(text)); !errors.As(err, &failed) || failed.Reason != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := pullError("image", context.Canceled); !errors.Is(err, context.Canceled) || errors.As(err, new(*PullError)) {
		t.Errorf("canceled: %v", err)
	}
}

// noHelper fails the test if a program is asked.
func noHelper(t testing.TB) func(context.Context, string, string) (*registrytypes.AuthConfig, error) {
	return func(_ context.Context, name, _ string) (*registrytypes.AuthConfig, error) {
		t.Helper()
		t.Errorf("the helper %s was asked", name)
		return nil, nil
	}
}

func TestLogins(t *testing.T) {
	file, err := parseLogins([]byte(`{"auths":{
		"r.example.com":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("name:pass:word")) + `"},
		"https://index.docker.io/v1/":{"username":"hub","password":"secret"},
		"token.example.com":{"identitytoken":"t"},
		"https://other.example.com":{"username":"o","password":"p"},
		"empty.example.com":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"r.example.com": "name/pass:word/", "docker.io": "hub/secret/", "token.example.com": "//t", "other.example.com": "o/p/",
		"empty.example.com": "", "unknown.example.com": "", "example.com": "",
	} {
		auth, err := file.login(t.Context(), host, noHelper(t))
		got := ""
		if auth != nil {
			got = auth.Username + "/" + auth.Password + "/" + auth.IdentityToken
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", host, got, err)
		}
	}
}

func TestLogins_Helper(t *testing.T) {
	dir := t.TempDir()
	program := "#!/bin/sh\nread host\ncase $host in\nr.example.com) echo '{\"ServerURL\":\"x\",\"Username\":\"u\",\"Secret\":\"s\"}';;\ntoken.example.com) echo '{\"Username\":\"<token>\",\"Secret\":\"t\"}';;\nbroken.example.com) exit 3;;\n*) echo 'credentials not found in native keychain'; exit 1;;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-test"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	file, err := parseLogins([]byte(`{"credsStore":"none","credHelpers":{"r.example.com":"test","token.example.com":"test","broken.example.com":"test","gone.example.com":"test","evil.example.com":"../evil"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"r.example.com": "u/s/", "token.example.com": "//t", "gone.example.com": "none", "broken.example.com": "error", "evil.example.com": "error"} {
		auth, err := file.login(t.Context(), host, askHelper)
		got := "none"
		switch {
		case err != nil:
			got = "error"
		case auth != nil:
			got = auth.Username + "/" + auth.Password + "/" + auth.IdentityToken
		}
		if got != want {
			t.Errorf("%s: %s, %v", host, got, err)
		}
	}
}

func FuzzLogins(f *testing.F) {
	f.Add([]byte(`{"auths":{"r":{"auth":"bmFtZTpwYXNz"}}}`), "r")
	f.Add([]byte(`{"auths":{"https://index.docker.io/v1/":{"auth":"@@"}},"credsStore":"x"}`), "docker.io")
	f.Fuzz(func(t *testing.T, content []byte, host string) {
		file, err := parseLogins(content)
		if err != nil {
			return
		}
		asked := false
		auth, err := file.login(t.Context(), host, func(context.Context, string, string) (*registrytypes.AuthConfig, error) {
			asked = true
			return nil, nil
		})
		if err == nil && auth != nil && auth.Username == "" && auth.IdentityToken == "" {
			t.Fatalf("an empty login, helper asked: %v", asked)
		}
	})
}

func FuzzHelper(f *testing.F) {
	f.Add([]byte(`{"ServerURL":"x","Username":"u","Secret":"s"}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if auth, err := parseHelper(answer, "r"); (auth == nil) == (err == nil) {
			t.Fatalf("%v, %v", auth, err)
		}
	})
}

func TestGateway(t *testing.T) {
	t.Parallel()
	v4, v6 := netip.MustParsePrefix("172.17.0.0/16"), netip.MustParsePrefix("fd00::/64")
	for want, all := range map[string][]network.IPAMConfig{
		"172.17.0.1":  {{Subnet: v6, Gateway: netip.MustParseAddr("fd00::1")}, {Subnet: v4}}, // Docker's own network when it is new
		"172.17.9.9":  {{Subnet: v4, Gateway: netip.MustParseAddr("172.17.9.9")}},
		"invalid IP":  nil,
		"invalid IP ": {{Subnet: v6}},
	} {
		if got := gateway(all).String(); got != strings.TrimSpace(want) {
			t.Errorf("%+v: %s, want %s", all, got, want)
		}
	}
}
