package node

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/hosts/protocol"
)

// Join lets a machine join a location, without an agent, as an operator who may create join
// tokens. It returns the machine as operators see it.
func Join(t testing.TB, operator *client.Client, name, location string) client.Host {
	t.Helper()
	token, err := operator.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: location})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(protocol.JoinRequest{Token: token.Token, Facts: protocol.Facts{
		Name: name, IPAddress: "127.0.0.1", CPUMillis: 1000, MemoryMiB: 1024, PortFrom: 20000, PortTo: 20100,
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(operator.Endpoint+protocol.PathJoin, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var joined protocol.JoinResponse
	if err := json.NewDecoder(answer.Body).Decode(&joined); err != nil || joined.HostID == "" {
		t.Fatalf("join: %s, %v", answer.Status, err)
	}
	host, err := operator.Hosts().Get(t.Context(), joined.HostID)
	if err != nil {
		t.Fatal(err)
	}
	return host
}
