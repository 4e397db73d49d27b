package containers

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// standIns replaces the images that only a registry has by one with this machine's programs.
const standIns = `
services:
  postgres:
    image: standin
    volumes: ["/usr:/usr:ro", "/etc:/etc:ro"]
    environment: {PATH: "%[1]s:/usr/bin"}
    entrypoint: [bash, -ec]
    command:
      - |
        cd /var/lib/postgresql/data && chown postgres .
        export POSTGRES_PASSWORD="$$(cat "$$POSTGRES_PASSWORD_FILE")" # as root, as the image does
        exec setpriv --reuid=postgres --regid=postgres --clear-groups bash -ec '
          initdb --pgdata=. --username="$$POSTGRES_USER" --pwfile=<(echo "$$POSTGRES_PASSWORD") --auth-host=scram-sha-256 --auth-local=trust >/dev/null
          echo "host all all all scram-sha-256" >>pg_hba.conf
          echo "CREATE DATABASE $$POSTGRES_DB" | postgres --single -D . postgres >/dev/null
          exec postgres -D . -c listen_addresses="*" -c unix_socket_directories=/tmp'
  prometheus:
    image: standin
    volumes: ["/usr:/usr:ro"]
    entrypoint: [/usr/bin/prometheus]
`

// The compose file of a release starts two servers on PostgreSQL, which share their state, and
// Prometheus, which reads both and has the alerts. In place of the images of PostgreSQL and
// Prometheus there are this machine's programs; Grafana is left out.
func TestCompose(t *testing.T) {
	dist := os.Getenv("MUSTER_DIST")
	if dist == "" {
		t.Skip("MUSTER_DIST does not name the folder of a release: make dist-test runs this")
	}
	initdb, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(initdb) == 0 {
		t.Skip("there is no initdb (Debian package postgresql)")
	}
	for program, of := range map[string]string{"docker-compose": "docker-compose", "prometheus": "prometheus", "openssl": "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing (Debian package %s)", program, of)
		}
	}
	d := startDocker(t)
	images, err := filepath.Glob(filepath.Join(dist, "muster_*_image.tar"))
	if err != nil || len(images) != 1 {
		t.Fatalf("the images of the release are %q, %v", images, err)
	}
	_, tag, _ := strings.Cut(d.run("load", "--input", images[0]), "localhost/")
	d.standIn()

	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(document.Top(t), "deploy"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "compose", "standins.yaml"), fmt.Appendf(nil, standIns, filepath.Dir(initdb[0])), 0o644); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "DOCKER_HOST="+d.Host, "COMPOSE_FILE=compose.yaml:standins.yaml", "MUSTER_IMAGE=localhost/"+strings.Fields(tag)[0])
	shell := func(in, text string) string {
		t.Helper()
		cmd := exec.Command("bash", "-ec", text)
		cmd.Dir, cmd.Env = in, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			logs := exec.Command("docker-compose", "--project-name", "muster", "logs", "--no-color")
			logs.Dir, logs.Env = filepath.Join(dir, "compose"), env
			said, _ := logs.CombinedOutput() // for the message
			t.Fatalf("%s\nends with %v:\n%s\n%s", text, err, out, said)
		}
		return string(out)
	}
	// The guide's commands, up to the copy of the key: docker-compose 1 has no such command.
	typed, _, found := strings.Cut(document.Find(t, "docs/install.md", "sh", "docker compose ").Text, "docker compose --project-name muster cp ")
	if !found || !strings.Contains(typed, "up --detach\n") {
		t.Fatalf("the guide's commands are not as this test types them:\n%s", typed)
	}
	typed = strings.NewReplacer("cd deploy/compose", "cd compose", "sudo ", "", "docker compose ", "docker-compose ", "up --detach\n", "up --detach muster-1 muster-2 prometheus\n").Replace(typed)
	begin := time.Now()
	shell(dir, typed)
	t.Cleanup(func() {
		shell(filepath.Join(dir, "compose"), "docker-compose --project-name muster down --volumes --timeout 10")
	})
	t.Logf("all were started after %v", time.Since(begin).Round(time.Second/10))

	for _, name := range []string{"muster_muster-1_1", "muster_muster-2_1"} {
		d.healthy(name, true)
	}
	if logs := shell(filepath.Join(dir, "compose"), "docker-compose --project-name muster logs --no-color"); strings.Contains(logs, "can be read by every user") {
		t.Errorf("the servers warn of their secrets:\n%s", logs)
	}
	key, secret := d.firstKey("muster_muster-1_1")
	first, second := node.ClientAs("http://127.0.0.1:9080", key, secret), node.ClientAs("http://127.0.0.1:9081", key, secret)
	if _, err := first.CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: aws.String("custom-shared")}); err != nil {
		t.Fatal(err)
	}
	list, err := second.ListLocations(t.Context(), &gamelift.ListLocationsInput{})
	if err != nil || !strings.Contains(fmt.Sprint(names(list)), "custom-shared") {
		t.Errorf("the second server has the locations %v, %v", names(list), err)
	}
	prometheus(t)
}

// prometheus waits until Prometheus reads both servers, and checks that it has the alerts.
func prometheus(t *testing.T) {
	t.Helper()
	ask := func(path string, into any) {
		t.Helper()
		r, err := http.Get("http://127.0.0.1:9090/api/v1/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	var rules struct{ Data struct{ Groups []any } }
	if ask("rules", &rules); len(rules.Data.Groups) == 0 {
		t.Error("Prometheus has no alerts")
	}
	var up struct{ Data struct{ Result []any } }
	wait.For(t, "Prometheus reads 2 servers", func() error { // it does so every 15 seconds
		ask("query?query="+url.QueryEscape(`up{job="muster"} == 1 and on(instance) muster_build_info`), &up)
		if n := len(up.Data.Result); n < 2 {
			return fmt.Errorf("it reads %d", n)
		}
		return nil
	})
}

// standIn makes an image without files, for folders of this machine.
func (d daemon) standIn() {
	d.t.Helper()
	archive, err := os.Create(filepath.Join(d.t.TempDir(), "standin.tar"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer archive.Close()
	w := tar.NewWriter(archive)
	for _, h := range []tar.Header{
		{Name: "usr/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"}, {Name: "lib", Typeflag: tar.TypeSymlink, Linkname: "usr/lib"}, {Name: "lib64", Typeflag: tar.TypeSymlink, Linkname: "usr/lib64"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.run("import", archive.Name(), "standin")
}
