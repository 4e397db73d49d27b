package guides

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/cli/client"
	"github.com/musterhq/muster/internal/store/postgres/pgtest"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

// certify makes the certificate and key of the guides, for this machine, which commands trust
// from then on.
func (r *reader) certify() {
	r.Helper()
	r.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 " +
		"-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>&1")
	r.env = append(r.env, "SSL_CERT_FILE="+filepath.Join(r.dir, "cert.pem"), "CURL_CA_BUNDLE="+filepath.Join(r.dir, "cert.pem"))
}

// until types a command again until it ends well and prints texts: what it shows happens by
// itself.
func (r *reader) until(command string, texts ...string) string {
	r.Helper()
	return wait.Value(r, fmt.Sprintf("%s prints all of %q", command, texts), func() (string, error) {
		out, err := r.shell(command).CombinedOutput()
		missing := slices.IndexFunc(texts, func(text string) bool { return !strings.Contains(string(out), text) })
		if err != nil || missing >= 0 {
			return "", fmt.Errorf("%v:\n%s", err, out)
		}
		return string(out), nil
	})
}

// stop ends a server as a supervisor does.
func stop(t *testing.T, p *node.Process) {
	t.Helper()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
}

// printed matches the parts of a new key.
var printed = regexp.MustCompile(`(?m)^AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY)=(\S+)$`)

// keys returns the keys that commands have printed.
func keys(t *testing.T, out string) (all []client.Credentials) {
	t.Helper()
	parts := printed.FindAllStringSubmatch(out, -1)
	for pair := range slices.Chunk(parts, 2) {
		if len(pair) < 2 || pair[0][1] != "ACCESS_KEY_ID" || pair[1][1] != "SECRET_ACCESS_KEY" {
			t.Fatalf("these are no keys:\n%s", out)
		}
		all = append(all, client.Credentials{AccessKeyID: pair[0][2], SecretAccessKey: pair[1][2]})
	}
	if len(all) == 0 {
		t.Fatalf("no key is printed:\n%s", out)
	}
	return all
}

// as returns the variables for commands with a key.
func as(c client.Credentials) []string {
	return []string{"AWS_ACCESS_KEY_ID=" + c.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + c.SecretAccessKey, "AWS_DEFAULT_REGION=us-east-1"}
}

// locate creates a location with a name.
func locate(t *testing.T, c *client.Client, name string) {
	t.Helper()
	if _, err := api(c).CreateLocation(t.Context(), &gamelift.CreateLocationInput{LocationName: &name}); err != nil {
		t.Fatal(err)
	}
}

// TestOperations types the first command of the guide, whose server speaks TLS, and sets the capacity
// of a managed fleet in its home region to nothing.
func TestOperations(t *testing.T) {
	t.Parallel()
	needs(t, "aws curl openssl")
	node.Arena(t) // which the fleet hosts
	r := newReader(t, "operations")
	if err := os.Chmod(filepath.Dir(r.dir), 0o755); err != nil { // users of game servers come through it
		t.Fatal(err)
	}
	r.certify()
	port := node.ReservePort(t)
	r.puts("/var/lib/muster", "data")
	r.puts("0.0.0.0:9443", "0.0.0.0:"+port)
	r.puts("https://muster.example:9443", "https://localhost:"+port)
	r.follow(
		step{"muster serve --data", func(text string) {
			p := r.runs(text, "--log-level warn")
			r.prints("curl -s --fail https://localhost:"+port+"/readyz", "ready")
			r.prints("muster admin keys list --endpoint https://localhost:"+port+" --credentials data/admin-credentials", "first", "admin")
			if key, err := os.Stat(filepath.Join(r.dir, "data", "admin-credentials")); err != nil || key.Mode().Perm() != 0o600 {
				t.Errorf("the first key: %v, %v", key.Mode(), err)
			}
			stop(t, p)
		}},
		step{"muster fleets scale", func(text string) {
			server, operator := r.serve("data")
			gl := api(operator)
			locate(t, operator, "custom-elsewhere")
			r.joins("MUSTER_ENDPOINT="+server.URL, "MUSTER_TOKEN="+r.joinToken("custom-elsewhere"))
			id := managed(t, server.URL, gl, "custom-elsewhere")
			r.until("muster fleets", " ACTIVE ")
			desired := func() int32 {
				at, err := gl.DescribeFleetCapacity(t.Context(), &gamelift.DescribeFleetCapacityInput{FleetIds: []string{id}})
				if err != nil || len(at.FleetCapacity) != 1 {
					t.Fatalf("the capacity is %v, %v", at, err)
				}
				return *at.FleetCapacity[0].InstanceCounts.DESIRED
			}
			if n := desired(); n != 1 {
				t.Errorf("%d instances are desired at first, and the guide says one", n)
			}
			r.puts("FLEET", id)
			r.env = append(r.env, as(operator.Credentials)...)
			r.env = append(r.env, "MUSTER_ENDPOINT="+server.URL)
			r.prints(text, "in us-east-1: MinSize 0, DesiredInstances from 1 to 0, MaxSize 1.")
			if n := desired(); n != 0 {
				t.Errorf("%d instances are desired still", n)
			}
		}},
	)
}

// joinToken returns a token with which a machine may join a location.
func (r *reader) joinToken(location string) string {
	r.Helper()
	made := r.run("muster admin join-tokens create --location " + location)
	token := madeToken.FindStringSubmatch(made)
	if token == nil {
		r.Fatalf("no token is printed:\n%s", made)
	}
	return token[1]
}

// joins has this machine, with processors for one instance, join as these variables say.
func (r *reader) joins(variables ...string) {
	r.Helper()
	r.agent(r.dir, "muster agent --root agent --name machine --stop --no-legacy-sdk --engine none --cpu 2 --ports 26000-26199", variables...)
}

// managed makes a managed fleet of the demo game with a further location, and returns its id.
func managed(t *testing.T, at string, gl *gamelift.Client, location string) string {
	t.Helper()
	program, err := os.ReadFile(node.Arena(t))
	if err != nil {
		t.Fatal(err)
	}
	build, err := node.Upload(t.Context(), at, gl, map[string][]byte{"arena": program})
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := gl.CreateFleet(t.Context(), &gamelift.CreateFleetInput{
		Name: aws.String("managed"), BuildId: &build, EC2InstanceType: types.EC2InstanceTypeC5Large,
		Locations: []types.LocationConfiguration{{Location: &location}},
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{
			{LaunchPath: aws.String("/local/game/arena"), Parameters: aws.String("server -port {{.GamePort}}"), ConcurrentExecutions: aws.Int32(1)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *fleet.FleetAttributes.FleetId
}

// TestOperations_Keys types the commands for keys: those with a scope see what is in it, and the
// list shows what becomes of a key.
func TestOperations_Keys(t *testing.T) {
	t.Parallel()
	needs(t, "aws")
	r := newReader(t, "operations")
	server, operator := r.serve("data")
	place := node.NewPlace(t, api(operator))
	if _, err := api(operator).TagResource(t.Context(), &gamelift.TagResourceInput{ResourceARN: &place.FleetARN, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("red")}}}); err != nil {
		t.Fatal(err)
	}
	node.NewPlace(t, api(operator)) // a fleet of nobody's
	place.Server(t)
	game, err := place.Create(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	outside := r.env
	r.puts("fleet-1f…", place.FleetID)
	r.puts("location/custom-eu", "location/"+place.Location)
	r.puts("https://muster.example:9443", server.URL)
	r.puts("/var/lib/muster", "data")
	r.follow(
		step{"muster admin keys create duel", func(text string) {
			made := keys(t, r.prints(text))
			r.prints("muster admin keys list", "duel", "matchmakingconfiguration/duel", "red-team", "team=red")
			if len(made) != 2 {
				t.Fatalf("%d keys are made", len(made))
			}
			red := api(&client.Client{Endpoint: server.URL, Credentials: made[1]})
			fleets, err := red.ListFleets(t.Context(), &gamelift.ListFleetsInput{})
			if err != nil || !slices.Equal(fleets.FleetIds, []string{place.FleetID}) {
				t.Errorf("the key of the red team sees %v, %v", fleets, err)
			}
		}},
		step{"muster admin keys create lobby-eu", func(text string) {
			lines := commands(text)
			r.env = append(slices.Clone(outside), as(keys(t, r.prints(lines[0]))[0])...)
			r.env = append(r.env, "AWS_ENDPOINT_URL_GAMELIFT="+server.URL)
			r.prints(lines[1], *game.GameSessionId)
		}},
		step{"muster login", func(text string) {
			r.env = slices.DeleteFunc(slices.Clone(outside), func(v string) bool {
				return strings.HasPrefix(v, "MUSTER_ENDPOINT=") || strings.HasPrefix(v, "MUSTER_CREDENTIALS=")
			})
			lines := commands(text)
			r.prints(lines[0])
			old := keys(t, r.prints(lines[1]))[0].AccessKeyID
			r.puts("MSTR…", old)
			row := regexp.MustCompile("(?m)^" + old + " .*$")
			ci := func() string { return row.FindString(r.prints("muster admin keys list")) }
			r.prints(lines[2], old, "ci")
			if made := keys(t, r.prints(lines[3])); made[0].AccessKeyID == old {
				t.Error("the key that is rotated stays the same")
			}
			for i, want := range []string{"DISABLED", "ENABLED", ""} {
				if r.prints(lines[4+i]); !strings.Contains(ci(), " "+want) && want != "" || want == "" && ci() != "" {
					t.Errorf("after %s the list shows %q", lines[4+i], ci())
				}
			}
			if len(lines) != 7 {
				t.Errorf("this test types seven commands, and the guide has %q", lines)
			}
		}},
	)
}

// TestOperations_Limits types the commands for proxies and limits: the address of a client behind
// a proxy is in the log, and too many machines at once are to join later.
func TestOperations_Limits(t *testing.T) {
	t.Parallel()
	r := newReader(t, "operations")
	r.write("muster.yaml", document.Find(t, r.guide, "yaml", "limits:").Text)
	limited := func(command string) {
		p := r.runs(command, "--listen 127.0.0.1:0 --log-level warn --data limits")
		defer stop(t, p)
		operator := r.operator(p, "limits")
		fleet := node.NewPlace(t, api(operator))
		token, err := operator.CreateJoinToken(t.Context(), client.JoinTokenInput{Location: fleet.Location, Uses: 1000})
		if err != nil {
			t.Fatal(err)
		}
		var joined, refused atomic.Int64
		var machines sync.WaitGroup
		for i := range 10 { // at once, so that they are faster than the limit on a busy machine
			machines.Go(func() {
				for n := 0; n < 50 && refused.Load() == 0; n++ {
					switch status, said := join(p.URL, token.Token, fmt.Sprintf("machine-%d-%d", i, n)); {
					case status == http.StatusOK:
						joined.Add(1)
					case status == http.StatusTooManyRequests && strings.Contains(said, "joins"):
						refused.Add(1)
					default:
						t.Errorf("%s: a machine is told %d %s", command, status, said)
						return
					}
				}
			})
		}
		if machines.Wait(); joined.Load() < 50 || refused.Load() == 0 {
			t.Errorf("%s: %d machines have joined, of which the guide lets 50 join at once, and %d were refused", command, joined.Load(), refused.Load())
		}
	}
	r.follow(
		step{"muster serve --trusted-proxies", func(text string) {
			p := r.runs(text, "--listen 127.0.0.1:0 --log-level warn --data proxies")
			if status, said := join(p.URL, "wrong", "machine"); status != http.StatusUnauthorized {
				t.Errorf("a machine with a wrong token is told %d %s", status, said)
			}
			stop(t, p) // its log is complete
			if !strings.Contains(p.Log(), "remote=198.51.100.7") {
				t.Errorf("the address from which the proxy forwards is not in the log:\n%s", p.Log())
			}
		}},
		step{"muster serve --limits", limited},
	)
	limited("muster serve --config muster.yaml")
}

// join asks for a machine to join, as a proxy does that forwards it. The status is 0 if there is
// no answer.
func join(at, token, name string) (status int, said string) {
	status, answer, err := node.TryJoin(at, token, name, "198.51.100.7")
	if err != nil {
		return 0, err.Error()
	}
	return status, string(answer)
}

// TestOperations_Regions starts the guide's three regions, asks one by AWS's tool, and backs up
// another than the home region.
func TestOperations_Regions(t *testing.T) {
	t.Parallel()
	needs(t, "aws")
	r := newReader(t, "operations")
	r.follow(
		step{"muster serve --regions", func(text string) {
			lines := commands(text)
			p := r.runs(lines[0], "--listen 127.0.0.1:0 --log-level warn")
			operator := r.operator(p, "muster-data")
			place := node.NewPlace(t, api(operator))
			r.env = append(r.env, as(operator.Credentials)...)
			r.puts("http://127.0.0.1:9080", p.URL)
			home := r.run(strings.Replace(r.said(lines[1]), "eu-central-1", "us-east-1", 1))
			if !strings.Contains(home, place.FleetID) {
				t.Errorf("the home region has the fleets %s", home)
			}
			r.until(r.said(lines[1]), `"FleetIds": []`) // once the region has a copy of the key
		}},
		step{"muster admin backup --regions", func(text string) {
			r.prints(text, "sequence", "digest")
		}},
	)
}

// TestOperations_Backup backs up a running server, checks the backup and restores it to a new
// folder, whose server has what the first one had.
func TestOperations_Backup(t *testing.T) {
	t.Parallel()
	r := newReader(t, "operations")
	_, operator := r.serve("data")
	locate(t, operator, "custom-kept")
	r.puts("/var/lib/muster", "data")
	r.follow(step{"muster admin backup", func(text string) {
		r.prints(text)
		r.run("cp data/master.key NEW-DIR/") // as the guide says
	}})
	p := r.runs("muster serve --listen 127.0.0.1:0 --log-level warn --data NEW-DIR")
	restored := *operator
	restored.Endpoint = p.URL // with the keys of before
	list, err := api(&restored).ListLocations(t.Context(), &gamelift.ListLocationsInput{Filters: []types.LocationFilter{types.LocationFilterCustom}})
	if err != nil || len(list.Locations) != 1 || *list.Locations[0].LocationName != "custom-kept" {
		t.Errorf("the restored server has the locations %v, %v", list, err)
	}
}

// TestOperations_Archive has events stored in a bucket, which is another Muster's, and in a folder,
// and reads them by the guide's commands.
func TestOperations_Archive(t *testing.T) {
	t.Parallel()
	needs(t, "aws jq")
	r := newReader(t, "operations")
	storage := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn")
	r.env = append(r.env, "AWS_ENDPOINT_URL_S3="+storage.URL, "AWS_ACCESS_KEY_ID=archive", "AWS_SECRET_ACCESS_KEY=secret", "AWS_REGION=us-east-1")
	r.run("aws s3 mb s3://my-events")
	r.puts("/var/lib/muster-events", "muster-events")
	object := regexp.MustCompile(`muster/us-east-1/\d{4}/\d\d/\d\d/\d\d/\d{16}-\d{16}\.ndjson\.gz`)
	r.follow(
		step{"muster serve --events-archive", func(text string) {
			for i, line := range commands(text) {
				data := fmt.Sprintf("data-%d", i)
				p := r.runs(line, "--events-archive-every 1s --listen 127.0.0.1:0 --log-level warn --data "+data)
				locate(t, r.operator(p, data), "custom-"+data)
				if i > 0 {
					r.until("find muster-events -name '*.gz' -exec gunzip -c {} +", "custom-"+data)
				}
			}
		}},
		step{"muster events --archive", func(text string) {
			for i, line := range commands(text) {
				r.until(r.said(line), "LOCATION_CREATED", fmt.Sprintf("custom-data-%d", i))
			}
		}},
		step{"aws s3 cp", func(text string) {
			lines := commands(text)
			first := object.FindString(r.until("aws s3 ls --recursive s3://my-events", ".gz"))
			if first == "" {
				t.Fatal("the object is not named as the guide says")
			}
			written := object.FindString(lines[0])
			r.puts(strings.TrimPrefix(written, "muster/"), strings.TrimPrefix(first, "muster/"))
			r.puts(filepath.Dir(written)[len("muster/"):], filepath.Dir(first)[len("muster/"):])
			r.prints(lines[0], `"`)
			r.until(r.said(strings.ReplaceAll(lines[1], "hour", "hour-1")), "custom-data-0") // it can be in a second object
			r.prints(lines[1], "LOCATION_CREATED", "custom-data-0")
		}},
	)
}

// TestOperations_PostgreSQL types the commands for servers on PostgreSQL, whose URLs lead to that
// of the tests. Of two servers the second stands by, and takes over when the first one is stopped.
func TestOperations_PostgreSQL(t *testing.T) {
	t.Parallel()
	needs(t, "curl openssl")
	database := pgtest.Database(t)
	r := newReader(t, "operations")
	r.certify()
	hook, bodies := received(t)
	r.puts("postgres://muster@db1,db2,db3/muster?target_session_attrs=read-write&sslmode=verify-full", oneAway(t, database))
	r.puts("postgres://muster@db.example/muster?sslmode=verify-full", database)
	r.puts("postgres://muster@db.example/muster", database)
	r.puts("/run/secrets/muster-db", "db-password")
	r.puts("/run/secrets/muster-notify", "notify-secret")
	r.puts("/etc/muster/master.key", "data/master.key")
	r.puts("/var/lib/muster", "sqlite")
	r.puts("https://game.example", hook)
	r.write("db-password", "any\n") // not asked for, but read
	r.write("notify-secret", "a long random text\n")
	const alone = "--listen 127.0.0.1:0 --log-level warn --data data"
	var emergency client.Credentials
	lists := func(p *node.Process) {
		env := r.env
		r.env = append(slices.Clone(env), append(as(emergency), "MUSTER_ENDPOINT="+p.URL)...)
		r.prints("muster admin keys list", "first", "emergency")
		r.env = env
	}
	r.follow(
		step{"muster serve --store", func(text string) {
			p := r.runs(text, alone)
			placed(t, api(r.operator(p, "data")))
			if got := until(t, bodies, "PlacementCancelled"); !strings.HasPrefix(got, "/hook\n") {
				t.Errorf("what is sent: %s", got)
			}
			stop(t, p)
		}},
		step{"muster admin keys create emergency", func(text string) {
			p := r.runs("muster serve --listen 127.0.0.1:0 --log-level warn --data sqlite")
			stop(t, p)
			made := keys(t, r.prints(text))
			if len(made) != 2 {
				t.Fatalf("%d keys are made", len(made))
			}
			emergency = made[1]
		}},
		step{"muster serve --store", func(text string) {
			p := r.runs(text, alone)
			lists(p)
			stop(t, p)
		}},
		step{"muster serve --store", func(text string) {
			p := r.runs(text, alone)
			lists(p)
			stop(t, p)
		}},
		step{"muster serve --store", func(text string) {
			var servers []*node.Process
			for _, data := range []string{"one", "two"} {
				at := node.Reserve(t)
				_, port, _ := net.SplitHostPort(at)
				servers = append(servers, r.runs(strings.NewReplacer(
					"0.0.0.0:9443", "0.0.0.0:"+port, "10.0.0.11:9443", at, "https://muster.example:9443", "https://localhost:"+port,
				).Replace(text), "--log-level warn --data "+data))
			}
			first, second := servers[0], servers[1]
			r.prints("curl -s --fail "+first.URL+"/readyz", `"owner"`)
			r.until("curl -s --fail "+second.URL+"/readyz", `"standby"`)
			lists(second) // which forwards
			stop(t, first)
			r.until("curl -s --fail "+second.URL+"/readyz", `"owner"`)
			lists(second)
		}},
	)
}

// oneAway returns the URL of a database with a server before it that is away, and which wants the
// one that can be written to.
func oneAway(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("target_session_attrs", "read-write")
	if host := q.Get("host"); host != "" {
		q.Set("host", t.TempDir()+","+host)
	} else {
		u.Host = node.Reserve(t) + "," + u.Host
	}
	u.RawQuery = q.Encode()
	return u.String()
}
