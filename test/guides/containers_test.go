package guides

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/legacygame"
	"github.com/musterhq/muster/test/node"
)

// docker starts a Docker engine for a desk, which its commands use, and returns a registry.
func (d *desk) docker() *enginetest.Registry {
	d.Helper()
	needs(d.T, "docker ldd tar install")
	node.Arena(d) // which is put into images
	engine, registry := enginetest.Docker(d.T, "--live-restore"), enginetest.NewRegistry(d.T)
	d.env = append(d.env, "DOCKER_HOST="+engine.Host, "DOCKER_BUILDKIT=0", "MUSTER_LISTEN=127.0.0.1:0", "MUSTER_LOG_LEVEL=warn")
	return registry
}

// image makes an image of programs, each TARGET=FILE, with the libraries that they use.
func (d *desk) image(tag, entrypoint string, programs ...string) {
	d.Helper()
	root := d.TempDir()
	script := ""
	for _, program := range programs {
		target, file, _ := strings.Cut(program, "=")
		script += fmt.Sprintf("install -D '%s' '%s%s'\n"+
			"for library in $(ldd '%[1]s' 2>/dev/null | grep -o '/[^ ]*' || true); do install -D $library %[2]s$library; done\n", file, root, target)
	}
	d.run(script + fmt.Sprintf("tar -C '%s' -c . | docker import --change 'ENTRYPOINT %s' - %s", root, entrypoint, tag))
}

// withShell are the programs of an image with the demo game and a shell.
func withShell() []string {
	return []string{"/arena=" + os.Getenv("ARENA_BIN"), "/bin/sh=/bin/sh", "/bin/sleep=/bin/sleep"}
}

// demoPlays has two bots play a game on a fleet, by the program.
const demoPlays = "muster demo play --players 2 --for 2s --demo-server bin/arena --fleet "

// TestHosting_Image types the commands of the guide for images: one that the engine has, on the
// port that it is given, and copies of one of a registry, each on a port of its own.
func TestHosting_Image(t *testing.T) {
	t.Parallel()
	if !enginetest.Alone(t) {
		return
	}
	r := newReader(t, "hosting")
	registry := r.docker()
	r.puts("registry.example", registry.Host)
	r.image("my-server:dev", `["/arena","server","--port","7777"]`, withShell()...)
	r.image(registry.Host+"/my-server:1.4", `["/bin/sh","-c","exec /arena server --port $GAME_PORT"]`, withShell()...)
	r.run("docker push " + registry.Host + "/my-server:1.4; docker image rm " + registry.Host + "/my-server:1.4")
	r.follow(step{"muster local --image", func(text string) {
		for i, line := range commands(text) {
			p, seen, c := r.local(line)
			ports := map[int32]bool{}
			for range []int{1, 4}[i] {
				fleet := seen.Code(t, "SERVER_PROCESS_ACTIVE").FleetID
				ports[*play(t, c, fleet).Port] = true
			}
			if len(ports) != []int{1, 4}[i] || i == 0 && !ports[7777] {
				t.Errorf("%s\nhosts game sessions on the ports %v", line, ports)
			}
			queues, err := c.DescribeGameSessionQueues(t.Context(), &gamelift.DescribeGameSessionQueuesInput{Names: []string{"image"}})
			if err != nil || len(queues.GameSessionQueues) != 1 {
				t.Errorf("the queues called image are %+v, %v", queues, err)
			}
			matchmaking, err := c.DescribeMatchmakingConfigurations(t.Context(), &gamelift.DescribeMatchmakingConfigurationsInput{Names: []string{"image"}})
			if err != nil || len(matchmaking.Configurations) != 1 {
				t.Errorf("the matchmaking configurations called image are %+v, %v", matchmaking, err)
			}
			stop(t, p)
			if left := r.run("docker ps --all --quiet"); left != "" {
				t.Errorf("containers are left: %s", left)
			}
		}
	}})
}

// local starts `muster local` by a command of the guide, with a folder for its data of its own.
func (r *reader) local(command string) (*node.Process, *node.Events, *gamelift.Client) {
	r.Helper()
	r.env = append(r.env, "MUSTER_DATA="+r.TempDir())
	p := r.runs(command)
	return p, node.Follow(r.T, p.URL), node.Client(p.URL)
}

// play creates a game session on a fleet of `muster local`, and waits until it is ACTIVE.
func play(t *testing.T, c *gamelift.Client, fleet string) *types.GameSession {
	t.Helper()
	place := node.Place{Client: c, FleetID: fleet, Location: "custom-local"}
	made, err := place.Create(t.Context(), 4)
	for err == nil && made.Status == types.GameSessionStatusActivating {
		var found *gamelift.DescribeGameSessionsOutput
		if found, err = c.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{GameSessionId: made.GameSessionId}); err == nil {
			made = &found.GameSessions[0]
		}
	}
	if err != nil || made.Status != types.GameSessionStatusActive {
		t.Fatalf("the game session is %+v, %v", made, err)
	}
	return made
}

// TestHosting_Containers types the commands of the guide for a fleet of containers: a machine with
// Docker joins, a game is played, a version is deployed by itself and another by a command, and
// programs run in the containers of a compute.
func TestHosting_Containers(t *testing.T) {
	t.Parallel()
	if !enginetest.Alone(t) {
		return
	}
	needs(t, "aws")
	g := newGuide(t, "docs/hosting.md")
	registry := g.docker()
	g.with("registry.example", registry.Host)
	g.with("arn:aws:gamelift:…:", "arn:aws:gamelift:us-east-1:000000000000:")
	g.image(registry.Host+"/my-game:1", `["/arena","server","--port","7777"]`, "/arena="+os.Getenv("ARENA_BIN"))
	g.image(registry.Host+"/tools:1", `["/bin/sleep","100000"]`, withShell()...)
	g.run("docker push " + registry.Host + "/my-game:1; docker push " + registry.Host + "/tools:1")

	g.starts("serve", "--remote-access", "--deployment-bake", "1s")
	g.enter("aws gamelift create-location --location-name custom-lab")
	g.env = append(g.env, "MUSTER_TOKEN="+g.joins(g.enter("muster admin join-tokens create --location custom-lab")))
	install, agent, _ := strings.Cut(g.ahead("apt-get"), "\n")
	if install != "apt-get install docker.io" { // which has been done: Docker runs
		t.Errorf("the engine is installed by %s", install)
	}
	g.agent(g.dir, strings.ReplaceAll(strings.TrimSpace(agent), "…", g.muster)+" --ip "+enginetest.Address+" --root agent --allow-shells isolated --cpu 4 --memory 8192")
	g.until("muster hosts", "connected")

	g.types("aws gamelift create-container-group-definition")
	g.until("aws gamelift describe-container-fleet --fleet-id $FLEET", `"ACTIVE"`)
	g.until(demoPlays+"$FLEET --location custom-lab || true", "TERMINATED")

	// version waits until the fleet runs a version, whose deployment has ended.
	version := func(n int) {
		t.Helper()
		g.until("aws gamelift describe-container-fleet --fleet-id $FLEET --query 'ContainerFleet.[Status, GameServerContainerGroupDefinitionArn]' --output text", fmt.Sprintf("ACTIVE\tarn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/my-game:%d", n))
	}
	version(1)
	g.enter("aws gamelift update-container-group-definition --name my-game --support-container-definitions ContainerName=tools,ImageUri=" + registry.Host + "/tools:1")
	version(2)
	g.enter("aws gamelift update-container-fleet --fleet-id $FLEET --game-server-container-group-definition-name arn:aws:gamelift:us-east-1:000000000000:containergroupdefinition/my-game:1")
	version(1)
	g.prints(g.types("aws gamelift update-container-fleet"), `"DeploymentStatus"`, "custom-lab")
	version(2)
	g.prints(g.enter("aws gamelift describe-fleet-deployment --fleet-id $FLEET"), `"COMPLETE"`, "my-game:2", `"CANCELLED"`) // the home region has no machine
	g.until(demoPlays+"$FLEET --location custom-lab || true", "TERMINATED")

	fleet := strings.TrimSpace(g.enter("echo $FLEET"))
	found := regexp.MustCompile(`i-[0-9a-f]+/\d+`).FindString(g.until("aws gamelift list-compute --fleet-id $FLEET", `"tools"`))
	g.with("containerfleet-1f…", fleet)
	g.with("i-0123456789abcdef0/0", found)
	block := g.next("aws gamelift list-compute")
	g.prints(g.enter(block), `"game"`, `"tools"`, "arena server")
	lines := commands(block) // a shell reads what is typed into it
	g.prints(g.enter("echo 'test -x /bin/sleep && echo here is $0' | "+lines[len(lines)-1]), "here is ")
}

// ahead returns the text of a later block, which is typed before those above it.
func (g *guide) ahead(begins string) string {
	g.Helper()
	for i, block := range g.left {
		if strings.HasPrefix(block.Text, begins) {
			copy(g.left[1:i+1], g.left[:i])
			g.left[0] = block
			break
		}
	}
	return g.next(begins)
}

// TestGameServers_OldSDK types the commands of the guide for game servers with Server SDK 3: as a
// program, in a container with the machine's network, and in one with its own.
func TestGameServers_OldSDK(t *testing.T) {
	t.Parallel()
	if !enginetest.Alone(t) {
		return
	}
	r := newReader(t, "game-servers")
	r.docker()
	r.puts("sudo ", "") // the reader is root
	game := node.Compiled(t, "test/containers/oldgame")
	r.link(game, "oldgame")
	r.write("my-server", "#!/bin/sh\n[ \"$*\" = \"--port $GAME_PORT\" ] && exec \"$(dirname \"$0\")/oldgame\"\n")
	r.run("chmod +x my-server")
	r.image("my-game:1", `["/game/server"]`, "/game/server="+game)
	hosts := func(command string) {
		t.Helper()
		p, seen, c := r.local(command)
		g := play(t, c, seen.Code(t, "SERVER_PROCESS_ACTIVE").FleetID)
		told := legacygame.Direct(t, *g.IpAddress, int(*g.Port)).Pushed("StartGameSession", 1)["gameSession"].(map[string]any)
		if told["gameSessionId"] != *g.GameSessionId {
			t.Errorf("%s\nthe game server is told of %v, not of %s", command, told, *g.GameSessionId)
		}
		stop(t, p)
	}
	r.follow(step{"muster local --exec", hosts}, step{"sudo muster local", hosts})
	r.write("Dockerfile", document.Find(t, r.guide, "dockerfile", "FROM my-game:1").Text)
	r.run("cp bin/muster muster; docker build --tag my-game:2 .")
	hosts("muster local --image my-game:2")
}

// TestGameServers_Python types the guide's game server in Python, and the command that hosts it: a
// player is let in and plays, and with the last one the game ends.
func TestGameServers_Python(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	r := newReader(t, "game-servers")
	r.env = append(r.env, "MUSTER_LISTEN=127.0.0.1:0", "MUSTER_LOG_LEVEL=warn")
	r.write("game.py", document.Find(t, r.guide, "python", "MUSTER_GAME_URL").Text)
	r.follow(step{"muster local --exec python3", func(text string) {
		_, seen, c := r.local(text)
		g := play(t, c, seen.Code(t, "SERVER_PROCESS_ACTIVE").FleetID)
		made, err := c.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: new("ada")})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", net.JoinHostPort(*g.IpAddress, fmt.Sprint(*g.Port)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "%s\nhello\n", *made.PlayerSession.PlayerSessionId)
		var welcome, who, hello string
		if _, err := fmt.Fscan(conn, &welcome, &who, &hello); err != nil || welcome+who+hello != "welcomeadahello" {
			t.Errorf("the game says %q %q %q, %v", welcome, who, hello, err)
		}
		conn.Close()
		seen.Code(t, "SERVER_PROCESS_ENDED")
		seen.Code(t, "GAME_SESSION_TERMINATED")
		seen.Code(t, "SERVER_PROCESS_ACTIVE")
	}})
}
