package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/test/node"
)

// A person logs in with a key, and pages of other sites get nothing from that.
func TestPeople(t *testing.T) {
	needs(t)
	data := t.TempDir()
	server := node.Serve(t, node.Path(t), "serve", "--listen", "127.0.0.1:0", "--data", data, "--log-level", "error")
	type key struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	admin := node.FirstKey(t, data)
	d := demo{server: server, aws: node.ClientAs(server.URL, admin.AccessKeyID, admin.SecretAccessKey)}
	d.waitInVain(t)
	fleets, err := d.aws.ListFleets(t.Context(), &gamelift.ListFleetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	operator := &client.Client{Endpoint: server.URL, Credentials: admin}
	made, err := operator.Keys().Create(t.Context(), client.KeySpec{Name: "support", Role: "read-only"})
	if err != nil {
		t.Fatal(err)
	}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<!doctype html><title>another site</title>"))
	}))
	defer evil.Close()
	run(t, "people.mjs", task{
		Base: server.URL, Flags: []string{"--host-resolver-rules=MAP foreign.example 127.0.0.1"},
		About: map[string]any{
			"admin": key{admin.AccessKeyID, admin.SecretAccessKey}, "reader": key{made.ID, made.Secret}, "fleet": fleets.FleetIds[0],
			"foreign": []string{evil.URL, strings.Replace(evil.URL, "127.0.0.1", "foreign.example", 1)},
		},
	}, map[string]func(string) any{
		"made": func(string) any {
			locations, err := d.aws.ListLocations(t.Context(), &gamelift.ListLocationsInput{})
			if err != nil {
				t.Fatal(err)
			}
			keys, err := operator.Keys().List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			names := map[string][]string{"locations": {}, "keys": {}}
			for _, l := range locations.Locations {
				names["locations"] = append(names["locations"], *l.LocationName)
			}
			for _, k := range keys {
				names["keys"] = append(names["keys"], k.Name)
			}
			return names
		},
		"enable": func(id string) any {
			if _, err := operator.Keys().Enable(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return nil
		},
		"disable": func(id string) any {
			if _, err := operator.Keys().Disable(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return nil
		},
	})
}
