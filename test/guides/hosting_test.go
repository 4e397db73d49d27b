package guides

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// myServer makes the guide's game server for each of its commands: the demo game, and a program
// in Python.
func (g *guide) myServer() {
	g.Helper()
	arena := node.Arena(g)
	g.link(filepath.Join(document.Top(g), "examples", "ten-minutes", "python", "server.py"), "my-server.py")
	g.write("my-server", "#!/bin/sh\necho \"the game server begins with $*\"\nwhile [ \"$1\" = -map ]; do shift 2; done\necho a line in the log > \"${GAME_LOG_DIR:-.}/my-server.log\"\nexec \"$(dirname \"$0\")/arena\" server \"$@\"\n")
	g.enter("cp '" + arena + "' arena; chmod +x my-server; zip -q build.zip my-server arena")
}

// TestHosting types the commands of the guide on the machine of `muster local`: programs of the
// reader, and a fleet of a build, with a game session and its log.
func TestHosting(t *testing.T) {
	t.Parallel()
	needs(t, "aws zip unzip python3 openssl")
	g := newGuide(t, "docs/hosting.md")
	g.myServer()
	g.with("7777", node.ReservePort(t))
	lines := strings.Split(strings.TrimSpace(g.next("muster local --exec")), "\n")
	for i, want := range []string{"begins with -map winter", "begins with -port", "process started"} {
		g.watches(fmt.Sprintf("env MUSTER_LISTEN=127.0.0.1:0 MUSTER_DATA=local%d %s", i, lines[i]), want)
	}
	g.prints(g.types("muster preflight build.zip"), "ok ")

	g.serve("local", "--demo=false")
	g.enter("export MUSTER_ENDPOINT=" + g.muster)
	g.upload()
	block, watch, found := strings.Cut(g.next("export AWS"), "muster fleets --watch")
	if !found || strings.TrimSpace(watch) != "" {
		t.Fatal("the block does not end with muster fleets --watch")
	}
	g.enter(block)
	g.watches("muster fleets --watch", "ACTIVE", "2")
	game := regexp.MustCompile(`arn:aws:gamelift:[^"]*`).FindString(g.types("aws gamelift create-game-session"))
	g.until("aws gamelift describe-game-sessions --game-session-id "+game, `"ACTIVE"`)

	g.with("https://muster.example:9080", g.muster)
	g.prints(g.types("aws gamelift create-fleet"), `"CertificateType": "GENERATED"`)
	g.prints(g.enter("openssl x509 -in ca.pem -noout -text"), "CA:TRUE")

	g.with("gsess-01a2092a", game[strings.LastIndex(game, "gsess-"):])
	g.with("arn:aws:gamelift:us-east-1::gamesession/fleet-7c0ffee0/"+game[strings.LastIndex(game, "gsess-"):], game)
	logs := strings.Split(strings.TrimSpace(g.next("muster sessions logs")), "\n")
	g.prints(g.enter(logs[0]), "the game server begins")
	g.watches(logs[1], "the game server begins")

	g.with("arn:aws:gamelift:…:gamesession/fleet-…/gsess-…", game)
	g.with("arn:…", game)
	g.enter("muster sessions end " + game)
	g.until("aws gamelift describe-game-sessions --game-session-id "+game, `"TERMINATED"`)
	g.until("aws gamelift get-game-session-log-url --game-session-id "+game+" 2>&1 || true", "PreSignedUrl") // once the agent has sent it
	g.prints(g.enter(logs[0]), "the game server begins")
	g.prints(g.types("muster events --session"), "GAME_SESSION_ACTIVATED")
	g.prints(g.enter("unzip -l log.zip"), "exit.txt")
}

// TestHosting_Others plays with somebody at another machine, who reaches the server at an address
// of its network: two guests are matched and told that address.
func TestHosting_Others(t *testing.T) {
	t.Parallel()
	needs(t, "curl python3 zip")
	g := newGuide(t, "docs/hosting.md")
	g.myServer()
	port, ip := node.ReservePort(t), "127.0.0.1"
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			ip = n.IP.String()
		}
	}
	g.with("0.0.0.0:9080", "0.0.0.0:"+port)
	g.with("192.168.1.20", ip)
	g.write("players.yaml", g.next("matchmakers:"))
	g.enter(": >local.log") // which the background command opens at some time
	g.enter(strings.TrimSpace(g.next("muster local --listen")) + " >>local.log 2>&1 & server=$!")
	g.until("cat local.log", "process started")
	g.prints(g.read("local.log"), filepath.Join(g.dir, "muster-data", "admin-credentials"))
	api := "http://" + ip + ":" + port + "/player/v1"
	g.enter("member() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' $1; }")
	for range 2 {
		g.enter("token=$(curl -sS --fail -X POST " + api + "/auth/guest | member access_token)")
		g.enter("ticket=$(curl -sS --fail -H \"Authorization: Bearer $token\" --json '{\"matchmaker\":\"exec\"}' " + api + "/matchmaking/tickets | member ticket_id)")
	}
	g.prints(g.until("curl -sS -H \"Authorization: Bearer $token\" "+api+"/matchmaking/tickets/$ticket", `"completed"`), `"host":"`+ip+`"`)
	g.prints(g.enter("kill $server; wait $server; cat local.log"), "Your game server ended")
}

// TestHosting_Machines types the commands of the guide for machines that join a server, serve in
// it and are removed.
func TestHosting_Machines(t *testing.T) {
	t.Parallel()
	needs(t, "aws")
	g := newGuide(t, "docs/hosting.md")
	g.starts("serve")
	g.with("/var/lib/muster-agent", "agent")

	g.with("join-…", g.joins(g.types("aws gamelift create-location")))
	g.enter(strings.TrimSpace(g.next("MUSTER_TOKEN")) + " >agent.log 2>&1 & agent=$!")
	host := shownHost.FindString(g.until("muster hosts", "connected"))
	g.with("host-…", host)

	tokens := strings.SplitAfter(g.next("muster admin join-tokens"), "muster admin join-tokens revoke")
	if len(tokens) != 2 {
		t.Fatal("the block does not end with join-tokens revoke")
	}
	block := strings.TrimSuffix(tokens[0], "muster admin join-tokens revoke")
	out := g.enter(block)
	g.prints(out, "On up to 500 machines of 10.20.0.0/16, 10.21.0.0/16", "0/500")
	workers := regexp.MustCompile(`(jt-[0-9a-f]+) +workers`).FindStringSubmatch(out)
	if workers == nil {
		t.Fatalf("the list has no token for workers:\n%s", out)
	}
	g.enter("muster admin join-tokens revoke" + strings.ReplaceAll(tokens[1], "jt-…", workers[1]))
	if out := g.enter("muster admin join-tokens list"); strings.Contains(out, "workers") {
		t.Errorf("the token is revoked, and in the list still:\n%s", out)
	}
	g.prints(g.types("muster hosts shortages"), "MISSING")

	lines := strings.Split(strings.TrimSpace(g.next("muster hosts show")), "\n")
	for i, want := range []string{"connected", "takes nothing new", "is used again", "is given a new credential", "is removed"} {
		if i == 4 {
			g.until("muster events --last 100", "HOST_CREDENTIAL_ROTATED")
		}
		g.prints(g.enter(lines[i]), host, want)
	}
	g.prints(g.enter("wait $agent || cat agent.log"), "this host was removed from Muster", "remove credential.json")
	g.prints(g.types("muster agent cleanup"), "0 instances")

	g.env = append(g.env, "MUSTER_TOKEN="+g.joins(g.enter("muster admin join-tokens create --location custom-lab")))
	g.watches(strings.TrimSpace(g.next("muster agent --endpoint")), "joined", "linked to Muster")
	g.watches(strings.TrimSpace(g.next("muster agent --endpoint")), "linked to Muster")
}

// TestHosting_Shell types the commands of the guide for shells in an instance: an operator with a
// key for one fleet runs programs there.
func TestHosting_Shell(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("run this as root, as the guide's agent is: it isolates shells")
	}
	needs(t, "aws zip ps")
	g := newGuide(t, "docs/hosting.md")
	if err := os.Chmod(filepath.Dir(g.dir), 0o755); err != nil { // users of game servers come through it
		t.Fatal(err)
	}
	admin := g.starts("serve", "--remote-access")
	g.myServer()
	consent := strings.Split(strings.TrimSpace(g.next("muster serve --remote-access …\n")), "\n")
	g.env = append(g.env, "MUSTER_TOKEN="+g.joins(g.enter("muster admin join-tokens create --location us-east-1")))
	g.agent(g.dir, strings.ReplaceAll(consent[1], "https://muster.example:9080", g.muster)+" --root agent --stop --cpu 2")
	g.upload()
	fleet := strings.TrimSpace(g.enter("aws gamelift create-fleet --name shells --build-id $BUILD --ec2-instance-type c5.large " +
		`--runtime-configuration 'ServerProcesses=[{LaunchPath=/local/game/my-server,Parameters="-port {{.GamePort}}",ConcurrentExecutions=1}]' --query FleetAttributes.FleetId --output text`))
	g.with("fleet-1f…", fleet)
	found := regexp.MustCompile(`(i-[0-9a-f]+) +RUNNING +([0-9a-f-]{36})`)
	g.until("muster fleets", "ACTIVE")
	on := wait.Value(t, "muster hosts show has a process", func() ([]string, error) { // the agent reports it after the game server is ready
		shown := g.enter("muster hosts show $(hostname)")
		if on := found.FindStringSubmatch(shown); on != nil {
			return on, nil
		}
		return nil, fmt.Errorf("it prints\n%s", shown)
	})
	g.with("i-0123456789abcdef0", on[1])
	g.with("8f1c…", on[2])
	g.enter(strings.ReplaceAll(consent[2], "fleet-1f…", fleet) + " > oncall; set -a; source ./oncall; set +a") // from here on with this key

	g.prints(g.types("muster shell fleet"), "a line in the log")
	g.prints(g.read("configs"), "winter")
	byName := strings.ReplaceAll(g.next("muster shell arena"), "arena i-0123 ", "shells "+on[1][:6]+" ")
	g.prints(g.enter("AWS_ACCESS_KEY_ID= AWS_SECRET_ACCESS_KEY= MUSTER_CREDENTIALS="+admin+" "+byName), "load average")
	show, ps, _ := strings.Cut(g.next("muster hosts show"), "\n")
	g.prints(g.enter("MUSTER_CREDENTIALS="+admin+" "+strings.ReplaceAll(show, "host-…", "$(hostname)")), on[2], "Shells                allowed")
	g.prints(g.enter(ps), "arena server -port", "ps aux")
	if out := g.types("aws gamelift get-compute-access"); strings.Count(out, " my-server\n") != 2 {
		t.Errorf("the two commands do not both list my-server:\n%s", out)
	}
}

// starts runs `muster serve`, whose admin key the commands use. It returns the key's file.
func (g *guide) starts(args ...string) (admin string) {
	g.Helper()
	data := g.TempDir()
	g.serve(append(args, "--data", data)...)
	key := node.FirstKey(g, data)
	g.env = append(g.env, "AWS_ACCESS_KEY_ID="+key.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+key.SecretAccessKey,
		"AWS_ENDPOINT_URL="+g.muster, "MUSTER_PORTS=21200-21299")
	g.with("https://muster.example:9080", g.muster)
	return filepath.Join(data, "admin-credentials")
}

// madeToken is what join-tokens create prints, and shownHost the id of a machine.
var (
	madeToken = regexp.MustCompile(`MUSTER_TOKEN=(join-[a-z0-9]+)`)
	shownHost = regexp.MustCompile(`host-[0-9a-f]{8}-[0-9a-f-]+`)
)

// joins returns the token in what join-tokens create prints.
func (g *guide) joins(out string) string {
	g.Helper()
	token := madeToken.FindStringSubmatch(out)
	if token == nil {
		g.Fatalf("there is no join token in %s", out)
	}
	return token[1]
}

// upload uploads the build of the game server, and puts its id in later blocks.
func (g *guide) upload() {
	g.Helper()
	out := g.enter("mkdir -p dist/config; cp my-server arena dist; echo '{\"map\": \"winter\"}' > dist/config/map.json\n" +
		"AWS_ENDPOINT_URL=" + g.muster + " aws gamelift upload-build --name my-game --build-version 1 --operating-system AMAZON_LINUX_2023 --build-root dist")
	_, id, found := strings.Cut(out, "Build ID: ")
	if !found {
		g.Fatalf("upload-build prints no Build ID: %s", out)
	}
	g.enter("BUILD=" + strings.TrimSpace(id))
	g.with("build-1f…", strings.TrimSpace(id))
	g.with("build-…", strings.TrimSpace(id))
}
