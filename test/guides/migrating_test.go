package guides

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/test/node"
)

// TestMigrating types the commands of the guide. The account that is brought over is that of a
// second Muster, of which only the public API is used.
func TestMigrating(t *testing.T) {
	t.Parallel()
	needs(t, "aws node")
	r := newReader(t, "migrating")
	source := node.Start(t, "--listen", "127.0.0.1:0", "--data", filepath.Join(r.dir, "source"), "--log-level", "warn", "--region", "eu-west-1")
	account := node.Client(source.URL, func(o *gamelift.Options) { o.Region = "eu-west-1" })
	place := node.NewPlace(t, account)
	node.Matchmaker(t, account, "five-v-five", `{"name": "five", "ruleLanguageVersion": "1.0", "teams": [{"name": "all", "minPlayers": 1, "maxPlayers": 5}]}`)
	server, operator := r.serve("data")
	session := regexp.MustCompile(`"GameSessionId": "([^"]+)"`)
	port := regexp.MustCompile(`"Port": (\d+)`)
	var seen *node.Events // of the game that Muster starts
	r.follow(
		step{"export AWS_ENDPOINT_URL_GAMELIFT", func(text string) {
			r.puts("https://muster.example:9443", server.URL)
			r.puts("AWS_ACCESS_KEY_ID=MSTR… AWS_SECRET_ACCESS_KEY=…", "AWS_ACCESS_KEY_ID="+operator.Credentials.AccessKeyID+" AWS_SECRET_ACCESS_KEY="+operator.Credentials.SecretAccessKey)
			r.prints("export AWS_DEFAULT_REGION=us-east-1\n"+text, `"FleetIds": []`)
		}},
		step{"muster import aws", func(text string) {
			// The profile leads to the second Muster.
			r.write("home/config", "[profile studio]\nendpoint_url = "+source.URL+"\naws_access_key_id = any\naws_secret_access_key = any\n")
			r.env = append(r.env, "AWS_CONFIG_FILE="+filepath.Join(r.dir, "home/config"))
			r.run(r.said(text))
			for _, want := range []string{place.Location, "five-v-five"} {
				if file := r.read("muster.yaml"); !strings.Contains(file, want) {
					t.Errorf("%q is not in the file:\n%s", want, file)
				}
			}
		}},
		step{"muster apply", func(text string) {
			lines := commands(text)
			r.prints(lines[0], place.Location, "five-v-five")
			r.onTerminal(lines[1], "y")
			sets, err := api(operator).DescribeMatchmakingRuleSets(t.Context(), &gamelift.DescribeMatchmakingRuleSetsInput{})
			if err != nil || len(sets.RuleSets) != 1 || *sets.RuleSets[0].RuleSetName != "five-v-five" {
				t.Errorf("the server has %v, %v", sets, err)
			}
		}},
		step{"bin/muster local --no-sdk", func(text string) {
			local := r.runs(text, "--listen 127.0.0.1:0 --log-level warn --data game")
			seen = node.Follow(t, local.URL)
			seen.Code(t, "SERVER_PROCESS_ACTIVE")
			r.puts("http://127.0.0.1:9080", local.URL)
		}},
		step{"gl() {", func(text string) {
			out := wait.Value(t, "a process is free", func() (string, error) { // a moment after it is ready
				out, err := r.shell(r.said(text)).CombinedOutput()
				if err != nil && !strings.Contains(string(out), "FleetCapacityExceeded") {
					t.Fatalf("%v\n%s", err, out)
				}
				return string(out), err
			})
			made, at := session.FindStringSubmatch(out), port.FindStringSubmatch(out)
			if made == nil || at == nil {
				t.Fatalf("no game session is made:\n%s", out)
			}
			say(t, at[1])
			if e := seen.Code(t, "SERVER_PROCESS_ENDED"); !strings.HasSuffix(made[1], e.GameSessionID) {
				t.Errorf("what ended is %+v, want the game session's process", e)
			}
		}},
	)
}

// say sends the game of the guide a datagram, which it answers, and another one, with which it ends.
func say(t *testing.T, port string) {
	t.Helper()
	c, err := net.Dial("udp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer := make([]byte, 200)
	n := wait.Value(t, "the game answers", func() (int, error) {
		c.Write([]byte("hello")) // a datagram may be too early
		c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		return c.Read(answer)
	})
	if got := string(answer[:n]); !strings.HasSuffix(got, "in winter") {
		t.Errorf("the game says %q", got)
	}
	if _, err := c.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
}
