package guides

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/test/document"
)

// claim says of blocks of a document which test types them, or why none does.
type claim struct {
	test   string   // the folder and name of a test
	why    string   // if there is none
	begins []string // how the blocks begin; none: all others of the document
}

// by claims blocks for a test.
func by(test string, begins ...string) claim { return claim{test: test, begins: begins} }

// not excuses blocks: they cannot be typed here, or nothing reads them.
func not(why string, begins ...string) claim { return claim{why: why, begins: begins} }

// Reasons that several documents have.
const (
	measured = "it is a measurement, made by hand on a machine of which the document tells"
	messages = "it shows messages of an interface, not what a reader types"
	systemd  = "it needs a machine that systemd has started"
)

// claims has the documents with blocks that a reader copies, in the order of docs/README.md.
var claims = map[string][]claim{
	"README.md":             {by("test/guides/TestReadme")},
	"docs/benchmarks.md":    {not(measured)},
	"docs/builds.md":        {by("test/guides/TestBuilds")},
	"docs/command-line.md":  {by("test/guides/TestCommandLine")},
	"docs/configuration.md": {by("test/guides/TestConfiguration")},
	"docs/console.md": {
		by("test/guides/TestConsole", "aws gamelift tag-resource", "muster admin logins", "curl -s http"),
		by("test/guides/TestConsole_Accounts", "muster serve --public-url"),
	},
	"docs/deploying.md":       {by("test/guides/TestDeploying")},
	"docs/fleetiq.md":         {by("test/guides/TestFleetIQ")},
	"docs/flexmatch-rules.md": {by("test/guides/TestFlexMatchRules")},
	"docs/game-servers.md": {
		by("test/gamehttp/TestSample_Curl", "muster() {"),
		by("test/guides/TestGameServers", "export AWS", "SESSION="),
		by("test/guides/TestGameServers_OldSDK", "muster local --exec ./my-server", "sudo muster local", "FROM my-game"),
		by("test/guides/TestGameServers_Python", "muster local --exec python3"),
		by("test/dedicated/TestServers", "muster local --no-sdk"),
		by("test/scenario/TestPlain_Query", "muster agent --named-ports"),
	},
	"docs/hosting.md": {
		by("test/guides/TestHosting", "muster local --exec", "muster preflight", "export AWS", "aws gamelift create-game-session", "aws gamelift create-fleet", "muster sessions logs", "muster events"),
		by("test/guides/TestHosting_Others", "matchmakers:", "muster local --listen 0.0.0.0"),
		by("test/guides/TestHosting_Machines", "aws gamelift create-location", "MUSTER_TOKEN", "muster admin join-tokens", "muster hosts shortages", "muster hosts show host-…\nmuster hosts", "muster agent cleanup", "muster agent --endpoint https"),
		by("test/guides/TestHosting_Shell", "muster serve --remote-access", "muster shell fleet", "muster shell arena", "muster hosts show host-…\nmuster shell", "aws gamelift get-compute-access"),
		by("test/guides/TestHosting_Image", "muster local --image"),
		by("test/guides/TestHosting_Containers", "aws gamelift create-container-group-definition", "aws gamelift update-container-fleet", "apt-get install", "aws gamelift list-compute"),
	},
	"docs/install.md": {
		by("test/guides/TestInstall", "muster --version", "MUSTER_ENDPOINT="),
		by("test/containers/TestCompose", "cd deploy/compose"),
		by("test/containers/TestImage", "docker load"),
		by("test/install/TestClean", "curl -fsSL"),
		not("one line is for Debian, which test/install/TestClean types, and one for Fedora, which is not tried", "apt install"),
		not("it needs the repository on the internet; what make build makes is read by test/guides/TestTenMinutes_Build", "git clone"),
		not(systemd, "systemctl enable"),
	},
	"docs/kubernetes.md": {
		not("it compiles all programs for two processors, which takes minutes; test/containers/TestImage makes and runs such an image", "make image"),
		by("kubernetes/charttest/TestGuide", "kubectl create namespace", "export AWS_ENDPOINT_URL", "muster hosts"),
	},
	"docs/languages.md": {
		by("test/guides/TestTenMinutes"),
		by("test/guides/TestTenMinutes_Browser", "bin/muster local --log-level warn --exec python3", "python3 -m http.server"),
		by("test/guides/TestTenMinutes_Unity", "bin/muster local --log-level warn --exec bin/MyGame"),
		by("internal/archtest/TestDocuments_ShowFiles", "config_version"),
	},
	"docs/libraries.md": {
		by("test/guides/TestLibraries"),
		not("it needs npm's registry on the internet", "npx openapi-typescript"),
		not(messages, `{"bot":1`),
	},
	"docs/matchmaking.md": {by("test/guides/TestMatchmaking")},
	"docs/migrating.md":   {by("test/guides/TestMigrating")},
	"docs/monitoring.md": {
		by("test/guides/TestMonitoring"),
		not("it is the configuration of an OpenTelemetry Collector, which was tried by hand", "receivers:"),
	},
	"docs/notifications.md": {
		by("test/guides/TestNotifications"),
		by("test/guides/TestNotifications_Sinks", "# sinks.yaml"),
	},
	"docs/o3de.md": {by("test/clients/TestGems")},
	"docs/operations.md": {
		by("test/scenario/TestBalancer_HAProxy", "defaults"),
		by("test/scenario/TestBalancer_Nginx", "upstream servers"),
		not("it is part of Patroni's configuration, which was tried by hand", "ttl: 20"),
		by("test/guides/TestOperations", "muster serve --data", "muster fleets scale"),
		by("test/guides/TestOperations_Keys", "muster admin keys create duel", "muster admin keys create lobby-eu", "muster login"),
		by("test/guides/TestOperations_Limits", "muster serve --trusted-proxies", "muster serve --limits", "# in the file of --config"),
		by("test/guides/TestOperations_Regions", "muster serve --regions", "muster admin backup --regions"),
		by("test/guides/TestOperations_Backup", "muster admin backup state.backup"),
		by("test/guides/TestOperations_Archive", "muster serve --events-archive", "muster events --archive", "aws s3 cp"),
		by("test/guides/TestOperations_PostgreSQL", "muster serve --store", "muster admin keys create emergency"),
	},
	"docs/placement.md": {
		by("test/guides/TestPlacement", "export AWS", "muster queues"),
		by("test/guides/TestPlacement_Regions", "muster local --regions", "HERE="),
		by("test/guides/TestPlacement_Remotes", "- name: frankfurt", "gl create-game-session-queue"),
	},
	"docs/players.md": {
		by("test/guides/TestPlayers_Matched", "api=", "token=", "ticket=", `{"session_id"`, `{"iss"`),
		by("test/guides/TestPlayers"),
		by("test/guides/TestPlayers_File", "issuer:"),
	},
	"docs/security.md": {by("test/guides/TestSecurity")},
	"docs/simulation.md": {
		by("test/guides/TestSimulation"),
		not(measured, "bin/muster simulate --ruleset sim/testdata/five-against-five.json --players sim/testdata/evening.yaml --for 24h"),
	},
	"docs/ten-minutes.md": {
		by("test/guides/TestTenMinutes"),
		by("test/guides/TestTenMinutes_Build", "make build"),
	},
	"docs/three-machines.md":  {by("test/guides/TestThreeMachines")},
	"docs/troubleshooting.md": {by("test/guides/TestTroubleshooting")},
	"docs/upgrading.md":       {by("test/guides/TestUpgrading")},
}

// copied are the languages of such blocks.
var copied = []string{"sh", "console", "yaml", "json", "ini", "nginx", "haproxy", "dockerfile"}

// blocksOf returns the blocks of a document that a reader copies.
func blocksOf(t *testing.T, name string) []document.Block {
	t.Helper()
	return slices.DeleteFunc(document.Blocks(t, name), func(b document.Block) bool { return !slices.Contains(copied, b.Language) })
}

// claimOf returns the claim of a block: that with the longest beginning of it, else that of all
// others.
func claimOf(name, text string) (found claim, begins string, ok bool) {
	for _, c := range claims[name] {
		if len(c.begins) == 0 && begins == "" {
			found, ok = c, true
		}
		for _, b := range c.begins {
			if strings.HasPrefix(text, b) && len(b) > len(begins) {
				found, begins, ok = c, b, true
			}
		}
	}
	return found, begins, ok
}

// Each block that a reader copies is typed by a test, or is excused in the table above. A claim
// that no block needs is to be removed.
func TestBlocks_AreTyped(t *testing.T) {
	t.Parallel()
	top := document.Top(t)
	names := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(top, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			name, _ := filepath.Rel(top, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range claims {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s", name)
		}
	}
	for _, name := range names {
		needed := map[string]bool{}
		for _, block := range blocksOf(t, name) {
			_, begins, ok := claimOf(name, block.Text)
			if !ok {
				t.Errorf("%s:%d: no test types this block. Type it in a test, and put its beginning in the table claims:\n%s", name, block.Line, block.Text)
			}
			needed[begins] = true
		}
		for _, c := range claims[name] {
			if c.test != "" && !exists(t, c.test) {
				t.Errorf("%s: there is no test %s", name, c.test)
			}
			for _, b := range c.begins {
				if !needed[b] {
					t.Errorf("%s has no block that begins with %q: remove the claim", name, b)
				}
			}
			if len(c.begins) == 0 && !needed[""] {
				t.Errorf("%s has no other blocks: remove the claim of %s%s", name, c.test, c.why)
			}
		}
	}
}

// exists reports whether a package has a test, which is named by its folder.
func exists(t *testing.T, name string) bool {
	t.Helper()
	folder, function := filepath.Split(name)
	files, err := filepath.Glob(filepath.Join(document.Top(t), folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == function {
				return true
			}
		}
	}
	return false
}
