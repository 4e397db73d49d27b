package cluster_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/musterhq/muster/hosts/protocol"
)

// caller calls a server that accepts any credentials.
type caller struct {
	t    *testing.T
	base string
}

// call calls an operation of the API.
func (c caller) call(operation string, in string, out any) {
	c.t.Helper()
	c.do(c.request(operation, in), out)
}

func (c caller) request(operation, in string) *http.Request {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base, strings.NewReader(in))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "GameLift."+operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	return req
}

func (c caller) do(req *http.Request, out any) {
	c.t.Helper()
	if err := c.try(req, out); err != nil {
		c.t.Fatal(err)
	}
}

func (c caller) try(req *http.Request, out any) error {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s %s %w", req.Method, req.Header.Get("X-Amz-Target"), res.Status, text, err)
	}
	return json.Unmarshal(text, out)
}

// joins returns the arguments with which muster-kubernetes joins a cluster to a location.
func (c caller) joins(k kubelet, location string) []string {
	c.t.Helper()
	var token protocol.JoinToken
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base+protocol.PathTokens+"?"+url.Values{"location": {location}}.Encode(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.do(req, &token)
	return []string{"--server=" + c.base, "--token=" + token.Token, "--kubeconfig=" + k.Kubeconfig(), "--namespace=default"}
}

// serve starts the program muster and returns how to call it.
func serve(t *testing.T, flags ...string) caller {
	t.Helper()
	program := os.Getenv("MUSTER_BIN")
	if program == "" {
		t.Skip("MUSTER_BIN is not set; make kube runs this test")
	}
	cmd := exec.Command(program, append([]string{"local", "--no-demo", "--engine=none", "--listen=127.0.0.1:0", "--data=" + t.TempDir()}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("muster ended with %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, base, ok := strings.Cut(lines.Text(), "ready "); ok {
			go io.Copy(io.Discard, out)
			return caller{t, strings.TrimSpace(base)}
		}
	}
	t.Fatal("muster is not ready")
	return caller{}
}

// groupCounts say how many game servers of a fleet there are.
type groupCounts struct{ PENDING, ACTIVE, IDLE, TERMINATING int }

func (c caller) counts(fleet string) groupCounts {
	c.t.Helper()
	var found struct {
		FleetCapacity []struct{ GameServerContainerGroupCounts groupCounts }
	}
	c.call("DescribeFleetCapacity", fmt.Sprintf(`{"FleetIds":[%q]}`, fleet), &found)
	return found.FleetCapacity[0].GameServerContainerGroupCounts
}
