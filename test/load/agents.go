package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/gameserver"
	"github.com/musterhq/muster/test/node"
)

// The dimensions of the hosts: agents, each with room for two instances.
const (
	agents      = 20
	anInstance  = 50 // processes, which is the API's limit
	portsOfHost = 400
)

// silent is a game server process that does nothing: it stores its environment, and
// this program speaks for it.
const silent = "#!/bin/sh\nenv > \"$GAME_LOG_DIR/told.new\" && mv \"$GAME_LOG_DIR/told.new\" \"$GAME_LOG_DIR/told\"\nexec sleep 100000\n"

// fleetOf is a server with its hosts.
type fleetOf struct {
	server  *node.Process
	dir     string
	client  *gamelift.Client
	console *client.Client
	hosts   []*exec.Cmd
	id      string
}

// throughAgents runs n game server processes on 20 agents, behind their relays, and
// measures the time until all are ready, and the memory of server and agents.
func throughAgents(s settings) error {
	if err := raiseFileLimit(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "muster-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f := &fleetOf{dir: dir}
	if err := f.serve(s.bin); err != nil {
		return err
	}
	defer f.stop()
	ctx := context.Background()
	for i := range agents {
		if err := f.host(ctx, s.bin, i); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := f.fill(ctx, s.n); err != nil {
		return err
	}
	all, err := f.speak(ctx, s.n)
	if err != nil {
		return err
	}
	ready := time.Since(began)
	if err := heartbeats(ctx, f.server, all); err != nil {
		return err
	}
	return f.tell(s.n, ready)
}

// serve starts a server, which generates its first key.
func (f *fleetOf) serve(bin string) (err error) {
	data := filepath.Join(f.dir, "server")
	if f.server, err = node.Run(bin, "serve", "--listen", "127.0.0.1:0", "--data", data, "--log-level", "error"); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(data, "admin-credentials"))
	if err != nil {
		return err
	}
	key := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, " = ")
		key[name] = strings.TrimSpace(value)
	}
	id, secret := key["aws_access_key_id"], key["aws_secret_access_key"]
	f.client = node.ClientAs(f.server.URL, id, secret)
	f.console = &client.Client{Endpoint: f.server.URL, Credentials: client.Credentials{AccessKeyID: id, SecretAccessKey: secret}}
	return nil
}

// host starts an agent with room for two instances of c5.large.
func (f *fleetOf) host(ctx context.Context, bin string, i int) error {
	token, err := f.console.CreateJoinToken(ctx, client.JoinTokenInput{})
	if err != nil {
		return err
	}
	from := 20000 + i*portsOfHost
	agent := exec.Command(bin, "agent", "--server", f.server.URL, "--root", filepath.Join(f.dir, fmt.Sprint("host-", i)), "--stop", "--stop-grace", "0s",
		"--ip", "127.0.0.1", "--ports", fmt.Sprintf("%d-%d", from, from+portsOfHost-1), "--cpu", "4", "--memory", "8192", "--log-level", "error")
	agent.Env = append(os.Environ(), "MUSTER_TOKEN="+token.Token)
	agent.Stderr = os.Stderr
	f.hosts = append(f.hosts, agent)
	return agent.Start()
}

// stop ends the agents, which end their processes, and the server.
func (f *fleetOf) stop() {
	for _, h := range f.hosts {
		if h.Process != nil {
			h.Process.Signal(os.Interrupt)
		}
	}
	for _, h := range f.hosts {
		h.Wait() // the exit status is not part of the measurement
	}
	f.server.Kill()
}

// fill creates a relayed fleet of one instance.
func (f *fleetOf) fill(ctx context.Context, n int) error {
	build, err := node.Upload(ctx, f.server.URL, f.client, map[string][]byte{"server": []byte(silent)})
	if err != nil {
		return err
	}
	made, err := f.client.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name: aws.String("load"), BuildId: &build, EC2InstanceType: types.EC2InstanceTypeC5Large,
		Tags: []types.Tag{{Key: aws.String("muster:relay"), Value: aws.String("true")}},
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{
			LaunchPath: aws.String("/local/game/server"), ConcurrentExecutions: aws.Int32(int32(min(n, anInstance))),
		}}},
	})
	if err != nil {
		return err
	}
	f.id = *made.FleetAttributes.FleetId
	return nil
}

// grow scales the fleet to the instances for n processes.
func (f *fleetOf) grow(ctx context.Context, n int) error {
	instances := (n + anInstance - 1) / anInstance
	_, err := f.client.UpdateFleetCapacity(ctx, &gamelift.UpdateFleetCapacityInput{
		FleetId: &f.id, DesiredInstances: aws.Int32(int32(instances)), MaxSize: aws.Int32(int32(instances)),
	})
	return err
}

// speak connects for each process as it comes up, through its host's relay.
func (f *fleetOf) speak(ctx context.Context, n int) ([]*gameserver.Process, error) {
	var all []*gameserver.Process
	known := map[string]bool{}
	for end := time.Now().Add(10 * time.Minute); len(all) < n; {
		told, err := filepath.Glob(filepath.Join(f.dir, "host-*", "instances", "*", "logs", "of-*", "told"))
		if err != nil {
			return nil, err
		}
		for _, file := range told {
			if known[file] {
				continue
			}
			known[file] = true
			p, err := speakFor(ctx, file)
			if err != nil {
				return nil, err
			}
			if all = append(all, p); len(all) > 1 {
				continue
			}
			if err := f.grow(ctx, n); err != nil { // the first one made the fleet ACTIVE
				return nil, err
			}
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("%d of %d processes have started after ten minutes", len(all), n)
		}
		time.Sleep(20 * time.Millisecond) // reading the files of all hosts costs something too
	}
	return all, nil
}

// speakFor connects for the process that stored its environment in file.
func speakFor(ctx context.Context, file string) (*gameserver.Process, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	o := gameserver.Options{
		Endpoint: env["GAMELIFT_SDK_WEBSOCKET_URL"], Token: env["GAMELIFT_SDK_AUTH_TOKEN"], FleetID: env["GAMELIFT_SDK_FLEET_ID"],
		ComputeName: env["GAMELIFT_SDK_HOST_ID"], ProcessID: env["GAMELIFT_SDK_PROCESS_ID"], Timeout: time.Minute,
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // the first process comes before its relay's link
		p, err := gameserver.Start(ctx, o)
		if err == nil || time.Now().After(end) {
			return p, err
		}
	}
}

// tell prints the results.
func (f *fleetOf) tell(n int, ready time.Duration) error {
	server, err := resident(f.server.PID())
	if err != nil {
		return err
	}
	total := 0.0
	for _, h := range f.hosts {
		one, err := resident(h.Process.Pid)
		if err != nil {
			return err
		}
		total += one
	}
	fmt.Println("| agents | game server processes | all ready after | server, MiB | an agent, MiB |")
	fmt.Println("|---|---|---|---|---|")
	fmt.Printf("| %d | %d | %s | %.0f | %.1f |\n", agents, n, ready.Round(100*time.Millisecond), server/(1<<20), total/agents/(1<<20))
	return nil
}
