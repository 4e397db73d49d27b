package node

import (
	"bytes"
	"encoding/json"
	"io"
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
	status, answer, err := TryJoin(operator.Endpoint, token.Token, name, "")
	var joined protocol.JoinResponse
	if err == nil {
		err = json.Unmarshal(answer, &joined)
	}
	if err != nil || joined.HostID == "" {
		t.Fatalf("join: %d %s, %v", status, answer, err)
	}
	host, err := operator.Hosts().Get(t.Context(), joined.HostID)
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// TryJoin asks for a machine to join with a token, and returns what it is answered. Unless proxied is "",
// it asks as a proxy does that forwards the request from there.
func TryJoin(url, token, name string, proxied string) (status int, answer []byte, err error) {
	body, err := json.Marshal(protocol.JoinRequest{Token: token, Facts: protocol.Facts{
		Name: name, IPAddress: "127.0.0.1", CPUMillis: 1000, MemoryMiB: 1024, PortFrom: 20000, PortTo: 20100,
	}})
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequest(http.MethodPost, url+protocol.PathJoin, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}}
	if proxied != "" {
		r.Header.Set("X-Forwarded-For", proxied)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}
