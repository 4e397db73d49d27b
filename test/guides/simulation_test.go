package guides

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/test/chromium"
	"github.com/musterhq/muster/test/document"
	"github.com/musterhq/muster/test/node"
)

const simulation = "docs/simulation.md"

// reported is where a report was written.
var reported = regexp.MustCompile(`(?m)^The report is in (.+)$`)

// TestSimulation types the commands of the guide, with its players, of whom few come, and its
// trace. The last one is a measurement, which is not made here.
func TestSimulation(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.dir = t.TempDir()
	rules := filepath.Join(document.Top(t), "sim", "testdata")
	if err := os.Mkdir(filepath.Join(d.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"bin/muster": node.Path(t), "sim": filepath.Dir(rules),
		"rules.json": filepath.Join(rules, "five-against-five.json"), "rules-new.json": filepath.Join(rules, "five-against-five-patient.json"),
	} {
		d.link(to, name)
	}
	d.write("players.yaml", strings.Replace(document.Find(t, simulation, "yaml", "populations:").Text, "tickets_per_minute: 380", "tickets_per_minute: 2", 1))
	d.write("yesterday.jsonl", document.Find(t, simulation, "json", `"at":`).Text)
	// A browser that says what it is to show.
	d.write("browser", "#!/bin/sh\necho \"$1\" > shown\n")
	if err := os.Chmod(filepath.Join(d.dir, "browser"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "BROWSER=./browser", "TMPDIR="+t.TempDir(), "MUSTER_ENDPOINT="+fiveAgainstFive(t))
	var commands []string
	for _, block := range document.Blocks(t, simulation) {
		if block.Language == "sh" && block.Section != "Speed" {
			commands = append(commands, strings.Split(strings.TrimSpace(block.Text), "\n")...)
		}
	}
	for _, command := range commands {
		out := d.run(command)
		switch {
		case strings.Contains(command, "--open"):
			at := reported.FindStringSubmatch(out)
			if at == nil {
				t.Fatalf("%s does not say where the report is:\n%s", command, out)
			}
			if shown := d.read("shown"); shown != "file://"+at[1]+"\n" {
				t.Errorf("the browser is to show %q, and the report is in %q", shown, at[1])
			}
			looksLikeAReport(t, "file://"+at[1])
		case strings.Contains(command, "--out report.html"):
			looksLikeAReport(t, "file://"+filepath.Join(d.dir, "report.html"))
		case strings.Contains(command, "tickets export"):
			if text := d.read("yesterday.jsonl"); !strings.Contains(text, `"exported"`) {
				t.Errorf("%s wrote %q", command, text)
			}
		default:
			if !strings.Contains(out, "matched") {
				t.Errorf("%s prints\n%s", command, out)
			}
		}
	}
	if len(commands) < 6 {
		t.Errorf("found only %d commands in %s", len(commands), simulation)
	}
}

// TestSimulation_WithoutBrowser looks for a browser where there is none: the report is made, and
// the path of it is printed.
func TestSimulation_WithoutBrowser(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.dir = t.TempDir()
	d.link(document.Top(t), "muster")
	play := node.Path(t) + " simulate --ruleset muster/sim/testdata/five-against-five.json --players muster/sim/testdata/evening.yaml --for 1m --open --out report.html"
	for _, where := range []string{"env -u BROWSER -u DISPLAY -u WAYLAND_DISPLAY ", "env BROWSER=./none ", "env BROWSER=false "} {
		out := d.run("rm -f report.html; " + where + play)
		if at := reported.FindStringSubmatch(out); at == nil || at[1] != filepath.Join(d.dir, "report.html") || !strings.Contains(out, "It was not opened") {
			t.Errorf("%s: %s", where, out)
		}
		if !strings.Contains(d.read("report.html"), "</html>") {
			t.Errorf("%s: the report is not whole", where)
		}
	}
	if out, err := d.shell(play + " -o json").CombinedOutput(); err == nil || !strings.Contains(string(out), "leave out --open") {
		t.Errorf("--open with JSON: %v %s", err, out)
	}
}

// looksLikeAReport opens a report in Chromium, if that is there.
func looksLikeAReport(t *testing.T, url string) {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tab := chromium.Open(t, ctx, url, "1280,1000")
	var charts, broken int
	tab.Await(`[...document.querySelectorAll("svg")].filter(s => s.getBoundingClientRect().height > 50).length`, &charts)
	tab.Await(`[document.documentElement.scrollWidth > innerWidth, /NaN|undefined/.test(document.body.textContent)].filter(Boolean).length`, &broken)
	if charts < 8 || broken > 0 {
		t.Errorf("%s shows %d charts, and has %d faults", url, charts, broken)
	}
	tab.Screenshot("simulation.png")
}

// fiveAgainstFive starts a server with the matchmaking configuration of the guide, in which a
// ticket waits, and returns its URL.
func fiveAgainstFive(t *testing.T) string {
	t.Helper()
	c := node.Start(t, "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--log-level", "warn")
	waitForFive(t, node.Client(c.URL))
	return c.URL
}

// waitForFive makes the matchmaking configuration five-v-five, in which the ticket exported waits.
func waitForFive(t *testing.T, api *gamelift.Client) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(document.Top(t), "sim", "testdata", "five-against-five.json"))
	if err != nil {
		t.Fatal(err)
	}
	node.Matchmaker(t, api, "five-v-five", string(body))
	if _, err := api.StartMatchmaking(t.Context(), &gamelift.StartMatchmakingInput{
		ConfigurationName: aws.String("five-v-five"), TicketId: aws.String("exported"), Players: []types.Player{{PlayerId: aws.String("p")}},
	}); err != nil {
		t.Fatal(err)
	}
}
