package serversdk_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/musterhq/muster/internal/wait"
)

// muster is a running binary.
type muster struct {
	t    *testing.T
	bin  string
	data string
	mode string // local or serve
	base string // http://127.0.0.1:PORT
	cmd  *exec.Cmd
	log  *output
}

// startMuster runs the binary with an empty data directory.
func startMuster(t *testing.T) *muster {
	t.Helper()
	bin := os.Getenv("MUSTER_BIN")
	if bin == "" {
		t.Skip("MUSTER_BIN is not set: it names the muster binary to test")
	}
	m := &muster{t: t, bin: bin, data: t.TempDir(), mode: "local", log: &output{}}
	m.start("127.0.0.1:0")
	t.Cleanup(func() {
		m.stop(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("muster's log:\n%s", m.log)
		}
	})
	return m
}

// start starts the binary and waits until it is ready.
func (m *muster) start(listen string) {
	m.t.Helper()
	args := []string{m.mode, "--listen", listen, "--data", m.data}
	if m.mode == "local" {
		args = append(args, "--demo=false")
	}
	m.cmd = exec.Command(m.bin, args...)
	m.cmd.Stderr = m.log
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if base, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			m.base = strings.Fields(base)[0]
			go io.Copy(io.Discard, out)
			return
		}
	}
	m.t.Fatalf("muster did not become ready:\n%s", m.log)
}

// stop signals the binary and waits for its end.
func (m *muster) stop(how syscall.Signal) {
	m.cmd.Process.Signal(how)
	m.cmd.Wait()
}

// try calls an operation and returns the response's status.
func (m *muster) try(operation string, in, out any) (int, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequest("POST", m.base+"/", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "GameLift."+operation)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode, fmt.Errorf("%s: %d %s", operation, answer.StatusCode, text)
	}
	if out == nil {
		return answer.StatusCode, nil
	}
	return answer.StatusCode, json.Unmarshal(text, out)
}

func (m *muster) call(operation string, in, out any) {
	m.t.Helper()
	if _, err := m.try(operation, in, out); err != nil {
		m.t.Fatal(err)
	}
}

type object = map[string]any

const (
	location    = "custom-home"
	computeName = "compute-1"
)

// fleet creates an Anywhere fleet with one compute, and returns its id and the
// environment of a process on that compute.
func (m *muster) fleet() (id string, env map[string]string) {
	m.t.Helper()
	m.call("CreateLocation", object{"LocationName": location}, nil)
	var created struct{ FleetAttributes struct{ FleetId string } }
	m.call("CreateFleet", object{"Name": "f", "ComputeType": "ANYWHERE", "Locations": []object{{"Location": location}}}, &created)
	id = created.FleetAttributes.FleetId
	var registered struct {
		Compute struct{ GameLiftServiceSdkEndpoint string }
	}
	m.call("RegisterCompute", object{"FleetId": id, "ComputeName": computeName, "Location": location,
		"IpAddress": "127.0.0.1", "CertificatePath": "/certs/c.pem"}, &registered)
	var auth struct{ AuthToken string }
	m.call("GetComputeAuthToken", object{"FleetId": id, "ComputeName": computeName}, &auth)
	return id, map[string]string{
		"GAMELIFT_SDK_WEBSOCKET_URL": registered.Compute.GameLiftServiceSdkEndpoint,
		"GAMELIFT_SDK_AUTH_TOKEN":    auth.AuthToken,
		"GAMELIFT_SDK_PROCESS_ID":    "process-1",
		"GAMELIFT_SDK_HOST_ID":       computeName,
		"GAMELIFT_SDK_FLEET_ID":      id,
	}
}

// session holds the members of a game session that the tests read.
type session struct{ GameSessionId, Status string }

// create creates a game session as soon as a process is free for it.
func (m *muster) create(fleetID string) session {
	m.t.Helper()
	return wait.Value(m.t, "a process is free", func() (session, error) { // the API has no call that waits for one
		var out struct{ GameSession session }
		_, err := m.try("CreateGameSession", object{
			"FleetId": fleetID, "Location": location, "MaximumPlayerSessionCount": 4, "Name": "demo",
			"GameProperties": []object{{"Key": "map", "Value": "winter"}}, "GameSessionData": `{"seed":1}`,
		}, &out)
		if err != nil && !strings.Contains(err.Error(), "FleetCapacityExceeded") {
			m.t.Fatal(err)
		}
		return out.GameSession, err
	})
}

// until polls a game session until it has the given status.
func (m *muster) until(id, status string) {
	m.t.Helper()
	wait.For(m.t, "the game session is "+status, func() error {
		var out struct{ GameSessions []session }
		m.call("DescribeGameSessions", object{"GameSessionId": id}, &out)
		if now := out.GameSessions[0].Status; now != status {
			return fmt.Errorf("it is %s", now)
		}
		return nil
	})
}

// reserve reserves a slot for each player.
func (m *muster) reserve(id string, players ...string) []string {
	m.t.Helper()
	var out struct {
		PlayerSessions []struct{ PlayerSessionId string }
	}
	m.call("CreatePlayerSessions", object{"GameSessionId": id, "PlayerIds": players}, &out)
	var ids []string
	for _, p := range out.PlayerSessions {
		ids = append(ids, p.PlayerSessionId)
	}
	return ids
}

// key is an access key.
type key struct{ id, secret string }

// firstKey reads the access key that `muster serve` creates at its first start.
func (m *muster) firstKey() key {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.data, "admin-credentials"))
	if err != nil {
		m.t.Fatal(err)
	}
	found := regexp.MustCompile(`aws_access_key_id = (\S+)\naws_secret_access_key = (\S+)`).FindSubmatch(text)
	if found == nil {
		m.t.Fatalf("no key in %q", text)
	}
	return key{string(found[1]), string(found[2])}
}
