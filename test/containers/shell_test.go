package containers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/agent/engine/enginetest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// withShell pushes an image that has a shell and a few programs of this machine.
func (w *world) withShell() (image string) {
	w.t.Helper()
	files := map[string][]byte{}
	add := func(name, path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		files[name] = content
	}
	for _, name := range []string{"sh", "sleep", "stty", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			w.t.Skipf("this machine has no %s", name)
		}
		add("bin/"+name, path)
		libraries, _ := exec.Command("ldd", path).Output() // none for a static program
		for _, word := range strings.Fields(string(libraries)) {
			if filepath.IsAbs(word) {
				add(strings.TrimPrefix(word, "/"), word)
			}
		}
	}
	return w.registry.Push(w.t, "tools", enginetest.Image{Files: files, Entrypoint: []string{"/bin/sleep", "100000"}})
}

// pair creates a fleet with a group of a game server whose image has nothing else, and a
// container with a shell, and returns it with the name of its compute.
func (w *world) pair() (fleetID, compute string) {
	w.t.Helper()
	tools := w.withShell()
	w.define(w.push("/arena", "server", "--port", "7777"), func(in *gamelift.CreateContainerGroupDefinitionInput) {
		in.TotalMemoryLimitMebibytes = aws.Int32(256)
		in.SupportContainerDefinitions = []types.SupportContainerDefinitionInput{{ContainerName: aws.String("tools"), ImageUri: &tools}}
	})
	fleetID = w.create(1)
	return fleetID, wait.Value(w.t, "the compute has both containers", func() (string, error) {
		list, err := w.c.ListCompute(w.t.Context(), &gamelift.ListComputeInput{FleetId: &fleetID})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(list.ComputeList) != 1 || len(list.ComputeList[0].ContainerAttributes) != 2 {
			return "", fmt.Errorf("the computes are %+v", list.ComputeList)
		}
		return *list.ComputeList[0].ComputeName, nil
	})
}

// shell returns a command of muster shell.
func (w *world) shell(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), node.Path(w.t), append([]string{"shell"}, args...)...)
	cmd.Env = append(os.Environ(), "MUSTER_ENDPOINT="+w.server.URL, "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
	return cmd
}

// Programs run in the containers of a compute, with their streams, signals and exit codes, and
// end with their clients; an image without a shell is said to have none.
func TestShell(t *testing.T) {
	w := build(startDocker(t), "--remote-access")
	fleetID, compute := w.pair()
	in := func(container string, words ...string) *exec.Cmd {
		return w.shell(append([]string{"--container", container, fleetID, compute, "--"}, words...)...)
	}

	if out, errs, code := node.Output(t, in("tools", "sh", "-c", "echo out; echo bad >&2; exit 7")); out != "out\n" || errs != "bad\n" || code != 7 {
		t.Errorf("%q, %q, %d", out, errs, code)
	}
	if out, errs, code := node.Output(t, in("tools", "sh", "-c", "echo token=$GAMELIFT_SDK_AUTH_TOKEN=; test -e /arena")); out != "token==\n" || code != 1 {
		t.Errorf("it has the token, or is in another container: %q, %q, %d", out, errs, code)
	}
	input := strings.Repeat("0123456789abcde\n", 1<<16)
	cmd := in("tools", "cat")
	cmd.Stdin = strings.NewReader(input)
	if out, errs, code := node.Output(t, cmd); out != input || code != 0 {
		t.Errorf("cat returned %d bytes of %d, %q, %d", len(out), len(input), errs, code)
	}
	cmd = w.shell("--container", "tools", fleetID, compute)
	cmd.Stdin = strings.NewReader("echo from a script\nexit 3\n")
	if out, errs, code := node.Output(t, cmd); out != "from a script\n" || code != 3 {
		t.Errorf("a shell: %q, %q, %d", out, errs, code)
	}
	cmd = w.shell("-t", "--container", "tools", fleetID, compute, "--", "sh", "-c", "while [ \"$(stty size)\" != '24 80' ]; do sleep 0.01; done; echo sized; read line; echo got $line; exit 4")
	cmd.Stdin = strings.NewReader("a line\n")
	if out, errs, code := node.Output(t, cmd); !strings.Contains(out, "sized\r\n") || !strings.Contains(out, "got a line\r\n") || code != 4 {
		t.Errorf("on a terminal: %q, %q, %d", out, errs, code)
	}

	// The image of the game server.
	if out, errs, code := node.Output(t, w.shell(fleetID, compute)); out != "" || code != 255 || !strings.Contains(errs, "has no shell") || !strings.Contains(errs, "--container") {
		t.Errorf("a shell where there is none: %q, %q, %d", out, errs, code)
	}
	if out, errs, code := node.Output(t, w.shell(fleetID, compute, "--", "/arena", "help")); !strings.Contains(out+errs, "arena") || code == 255 {
		t.Errorf("a program of the image: %q, %q, %d", out, errs, code)
	}
	if _, errs, code := node.Output(t, in("tools", "/no-such-program")); code == 0 || code == 255 {
		t.Errorf("a program that is not there: %q, %d", errs, code)
	}
	for name, want := range map[string]string{"none": "those that run are: ", ".network": "does not run"} {
		if out, errs, code := node.Output(t, in(name, "sh")); out != "" || code != 255 || !strings.Contains(errs, want) {
			t.Errorf("container %s: %q, %q, %d", name, out, errs, code)
		}
	}
	if _, errs, code := node.Output(t, w.shell("--process", "p", fleetID, compute, "--", "sh")); code != 255 || !strings.Contains(errs, "--container") {
		t.Errorf("among the processes of a game server: %q, %d", errs, code)
	}

	// Signals, and the end of the client.
	begin := func(script string) *exec.Cmd {
		t.Helper()
		cmd := in("tools", "sh", "-c", script)
		cmd.Stderr = t.Output()
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = bufio.NewReader(out).ReadString('\n')
		}
		if err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	cmd = begin("trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done")
	cmd.Process.Signal(os.Interrupt)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 9 {
		t.Errorf("the program's handler of the signal ends muster shell with %d", cmd.ProcessState.ExitCode())
	}
	cmd = begin("trap '' HUP TERM INT PIPE; sleep 54321 & echo ready; while :; do sleep 0.1; done")
	cmd.Process.Kill()
	cmd.Wait()
	for exec.Command("pgrep", "-f", "sleep 54321").Run() == nil {
		w.pause("the end of what the shell started")
	}
	if n := len(w.running()); n != 2 {
		t.Errorf("%d containers run", n)
	}

	w.access(fleetID, compute)

	// With the fleet a shell ends.
	cmd = begin("echo ready; sleep 54322")
	if _, err := w.c.DeleteContainerFleet(t.Context(), &gamelift.DeleteContainerFleetInput{FleetId: &fleetID}); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() == 0 {
		t.Error("the shell of a fleet that is deleted ends well")
	}
}

// access asks for access and ports, as AWS's tools do; muster shell uses the credentials.
func (w *world) access(fleetID, compute string) {
	t := w.t
	t.Helper()
	access, err := w.c.GetComputeAccess(t.Context(), &gamelift.GetComputeAccessInput{FleetId: &fleetID, ComputeName: &compute})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, c := range access.ContainerIdentifiers {
		names[*c.ContainerName] = *c.ContainerRuntimeId
	}
	if running := strings.Join(w.running(), " "); len(names) != 2 || !strings.Contains(running, names["game"]) || !strings.Contains(running, names["tools"]) {
		t.Errorf("GetComputeAccess names %v, and %s run", names, running)
	}
	instanceID, _, _ := strings.Cut(compute, "/")
	_, err = w.c.GetInstanceAccess(w.t.Context(), &gamelift.GetInstanceAccessInput{FleetId: &fleetID, InstanceId: &instanceID})
	if invalid := (*types.InvalidRequestException)(nil); !errors.As(err, &invalid) || !strings.Contains(*invalid.Message, "GetComputeAccess") || !strings.Contains(*invalid.Message, compute) {
		t.Errorf("GetInstanceAccess: %v, want InvalidRequestException that leads to %s", err, compute)
	}
	answer, err := json.Marshal(map[string]any{"FleetId": fleetID, "ComputeName": compute, "Credentials": access.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	shell := w.shell("--access", "-", "--container", "tools", "--", "sh", "-c", "echo piped")
	shell.Stdin = bytes.NewReader(answer)
	if out, problem, _ := node.Output(t, shell); out != "piped\n" {
		t.Errorf("with the answer of GetComputeAccess: %q, %q", out, problem)
	}
	in := &gamelift.DescribeContainerGroupPortMappingsInput{
		FleetId: &fleetID, ContainerGroupType: types.ContainerGroupTypeGameServer, ComputeName: &compute, ContainerName: aws.String("none"),
	}
	if _, err := w.c.DescribeContainerGroupPortMappings(t.Context(), in); !strings.Contains(fmt.Sprint(err), "NotFoundException") {
		t.Errorf("port mappings of a container that is not there: %v", err)
	}
	in.ContainerName = aws.String("game")
	ports, err := w.c.DescribeContainerGroupPortMappings(t.Context(), in)
	if err != nil || len(ports.ContainerGroupPortMappings) != 1 || len(ports.ContainerGroupPortMappings[0].ContainerPortMappings) != 1 {
		t.Fatalf("port mappings %+v, %v", ports, err)
	}
	m := ports.ContainerGroupPortMappings[0]
	if p := m.ContainerPortMappings[0]; *ports.InstanceId != instanceID || *m.ContainerRuntimeId != names["game"] || *p.ContainerPort != 7777 || p.Protocol != types.IpProtocolUdp || !listens(*p.ConnectionPort) {
		t.Errorf("port mappings %+v", ports)
	}
}
