package archtest

import (
	"slices"
	"strings"
	"testing"
)

// row lists the packages of this module that a package may import, and the reason for
// the limit. A name that ends in /... stands for all packages below it.
type row struct{ path, may, why string }

// ground lists the packages that every package of the domain and every door may import.
const ground = "internal/store internal/state internal/fault internal/tracing internal/arn internal/patch"

// domain lists the packages that hold the rules of game hosting.
const domain = "event auth audit build build/object build/container fleet compute session session/filter instance fleetiq placement scaling flexmatch flexmatch/ruleset"

// rows are matched in order; the first that fits a package applies. Doors import the
// domain, the domain never imports a door. Within the domain, imports go downward only:
// a lower package reaches a higher one by an event or by a function that it is given.
// Only cmd and the black-box suites import app.
var rows = []row{
	{"internal/fault", "", "everybody speaks it, so it knows nobody"},
	{"internal/refusal", "", "errors for the clients of players, as fault is for callers of the AWS API"},
	{"internal/arn", "", "names are text"},
	{"internal/address", "", "addresses are text"},
	{"internal/release", "", "which release a program is, and which work together, for any program"},
	{"internal/patch", "", "optional members of requests, for any row"},
	{"internal/gameframe", "", "bounds the messages of game servers, for whatever carries them"},
	{"internal/plain", "", "text of others, for any screen and any log"},
	{"internal/wake", "", "a timer and a nudge, for any loop"},
	{"internal/state", "", "tables of moves, for any status"},
	{"internal/atomicfile", "", "replaces files, whatever is in them"},
	{"internal/sniff", "internal/atomicfile", "a listener, for any server; keeps its certificate"},
	{"internal/heap", "", "the garbage collector's pace, for any server"},
	{"internal/door", "", "bounds what any client can make a server hold"},
	{"internal/limit", "internal/fault", "token buckets and thinned warnings, for any door; refuses callers that send too much"},
	{"internal/tracing", "internal/fault", "spans, for whatever happens; who sends them is given to it"},
	{"internal/telemetry", "internal/limit internal/tracing", "sends what is measured and traced, whatever that is"},
	{"internal/shape", "internal/fault", "describes an API as data; errors are part of that"},
	{"internal/awsrpc", "internal/door internal/fault internal/limit internal/shape internal/awsrpc/sigv4", "serves any API that shape describes; gamelift is given to it"},
	{"internal/awsrpc/sigv4", "internal/fault", "signatures, for any service"},
	{"internal/awsquery", "internal/door internal/fault internal/limit", "serves any API in the query protocol; the API is given to it"},
	{"internal/feature", "", "levels of what is stored, for whoever stores it and whoever may not"},
	{"internal/store", "internal/fault internal/feature internal/tracing internal/wake", "refuses work when it is full; knows no table but those it is given"},
	{"internal/store/...", "internal/store internal/store/... internal/fault internal/feature internal/wake", "drivers, their SQL, their tests, backup: all beside the store"},
	{"internal/cell", "internal/door internal/feature internal/release", "who serves a state, and the way to them; what is served is given to it"},
	{"internal/tag", ground, "rows of its own, on resources that others name"},
	{"internal/outgoing", "", "where requests to hosts that others name must not go"},
	{"internal/registry", "internal/outgoing", "asks registries for the digests of images"},
	{"internal/gen", "", "reads the API description and writes gamelift"},
	{"internal/archive", "", "reads archives of strangers, for whoever has to"},
	{"internal/nearest", "", "words and names, whatever they name"},
	{"internal/yamlfile", "internal/nearest", "reads and writes any struct, whatever it means"},
	{"internal/asset", "", "sends files of the program to browsers, whatever they show"},
	{"internal/blob", "", "files by their content; who refers to them is said to it"},
	{"internal/gen/openapi", "", "reads the descriptions for game clients and writes sdk/session/player/protocol and the types of clients/"},
	{"internal/sbom", "", "reads a program and lists what was linked into it"},
	{"internal/wait", "", "how tests wait, whatever they test"},
	{"internal/testcount", "", "reads the output of go test"},
	{"internal/histories", "", "checks random histories, for tests, whatever they are of"},
	{"internal/archtest", "", "has tests only"},

	{"gamelift", "internal/fault internal/shape", "generated data; awsrpc reads it through shape"},
	{"serversdk/protocol", "internal/fault", "messages; a wrong one is the caller's fault"},

	{"hosts/protocol", "internal/gameframe", "messages that the agent shares, and those of game servers inside them"},
	{"hosts/shell", "hosts/protocol", "one end of a remote shell's connection, for clients and agents"},

	{"event", ground, "the bottom of the domain: everybody appends to it"},
	{"event/archive", ground + " internal/atomicfile internal/wake event", "stores the log elsewhere; knows nothing of what happened but the event"},
	{"auth", ground + " event", "making and deleting a key is an event, for the audit"},
	{"auth/oidc", "internal/fault internal/outgoing auth", "asks an identity provider who a person is; logins are rows of auth"},
	{"auth/oidc/oidctest", "", "an identity provider for tests; knows nothing of Muster"},
	{"audit", ground + " internal/wake internal/plain auth", "who asked for what; the store calls it in the commands of others"},
	{"build/object", ground + " internal/blob internal/wake", "named files for whoever owns their bucket, so it knows no owner"},
	{"build", ground + " internal/archive internal/blob internal/tag internal/wake build/object event", "a build is an archive that came as an object; its loop reads the archive"},
	{"build/container", ground + " internal/registry internal/tag internal/wake event", "a version of a group names images; its loop asks their registries for digests"},
	{"fleet/price", "", "what things cost, by a list: pure"},
	{"fleet", ground + " internal/tag event", "what people set; tags are rows beside it"},
	{"identity", ground + " internal/refusal internal/wake event", "accounts of players; knows nothing of games. What seals its keys is given to it"},
	{"compute", ground + " internal/address internal/tag internal/wake fleet auth event", "machines serve fleets and show tokens; its loop wakes at deadlines"},
	{"certificate", ground, "signs certificates of game servers; who may have one is said to it"},
	{"session/filter", "internal/fault", "a language: pure, with positions in its refusals"},
	{"session", ground + " internal/wake compute fleet session/filter event", "a game session takes a process; its loop wakes at deadlines"},
	{"instance", ground + " internal/address internal/tag internal/wake internal/plain session compute fleet event", "instances serve fleets, as computes; game sessions hold up their end; its loop wakes at deadlines"},
	{"fleetiq", ground + " internal/tag internal/wake instance event", "the instances of game server groups are hosts; its loop wakes at deadlines"},
	{"internal/ziptest", "", "makes and reads zip archives, for tests"},
	{"internal/celltest", ground + " internal/tag auth event identity fleet compute session instance", "opens these services on one store, for tests"},
	{"placement", ground + " internal/tag internal/wake session compute fleet event", "a placement becomes a game session on a process of a fleet; its loop wakes at deadlines"},
	{"placement/remote", "internal/arn internal/tracing session placement", "asks other deployments by AWS's client; decides nothing"},
	{"scaling", ground + " placement instance session compute fleet event", "capacity follows use, and what waits in queues"},
	{"flexmatch/ruleset", "internal/fault internal/nearest", "a language: pure, with positions in its refusals"},
	{"flexmatch/search", "flexmatch/ruleset", "says what a match is: pure, so it knows the language and no table"},
	{"flexmatch/search/large", "flexmatch/ruleset flexmatch/search", "forms matches of more than 40 players, by the definition"},
	{"flexmatch/search/pool", "flexmatch/ruleset flexmatch/search flexmatch/search/large", "forms matches from many tickets by the definition, and passes large ones on"},
	{"flexmatch/explain", "internal/nearest internal/plain flexmatch/ruleset flexmatch/search flexmatch/search/pool", "says why tickets wait: pure, by the search that matches them"},
	{"flexmatch/lint", "internal/plain flexmatch/ruleset flexmatch/search flexmatch/search/pool", "says what in a rule set is not meant: pure, by what the search can use"},
	{"flexmatch/trace", "flexmatch/ruleset", "a file of tickets, which the server writes and the simulation plays: pure"},
	{"flexmatch/cases", "internal/fault flexmatch/life flexmatch/ruleset flexmatch/search flexmatch/search/pool", "plays written examples without a server"},
	{"flexmatch/life", "internal/fault internal/state flexmatch/ruleset flexmatch/search", "what becomes of tickets: pure, so that the server, simulations and written cases play the same"},
	{"flexmatch", ground + " internal/tag internal/wake event session placement flexmatch/life flexmatch/ruleset flexmatch/search flexmatch/search/pool flexmatch/explain flexmatch/trace", "a match becomes a placement, or fills up a game session"},
	{"lobby", ground + " internal/address internal/refusal internal/wake identity fleet session session/filter placement flexmatch", "players are part of parties, tickets and game sessions; what they are matched into is below"},
	{"notify", ground + " internal/outgoing internal/atomicfile internal/limit internal/wake audit auth event", "reads the log and delivers it; knows nothing of what happened but the event; operators ask it with keys"},

	{"admin", ground + " internal/door internal/limit audit auth", "keys and logins of a running server; other packages add their routes"},
	{"api", ground + " internal/awsrpc internal/tag gamelift " + domain, "maps the wire to the domain; needs the store for snapshots and the actor of a command"},
	{"autoscaling", ground + " internal/awsquery auth fleetiq", "reads game server groups for tools of the Auto Scaling API; who may is a matter of keys"},
	{"sts", "internal/awsquery auth", "tells callers who they are; knows keys and nothing else"},
	{"serversdk", ground + " internal/door internal/gameframe internal/limit serversdk/protocol audit auth compute session flexmatch", "turns messages of game servers into calls"},
	{"beacon", "", "echoes datagrams; knows nothing of players"},
	{"uploads", ground + " internal/door internal/limit internal/awsrpc/sigv4 auth audit build build/object", "turns S3's requests into objects; who may is a matter of keys and of the build that awaits one"},
	{"hosts", ground + " internal/address internal/door internal/limit internal/release internal/wake hosts/protocol audit auth build build/container build/object certificate fleet compute instance event", "carries wishes, reports, builds and logs between the domain and host agents"},
	{"backend", ground + " internal/door internal/limit internal/refusal internal/wake sdk/session/player/protocol auth beacon identity fleet session session/filter lobby", "turns requests of players into calls; checks the receipts of beacons"},
	{"console", ground + " internal/door internal/limit auth event console/web", "people's pages and endpoints; what the API has, they get from the API"},
	{"console/web", "internal/asset", "files for browsers"},
	{"docs", "", "Markdown"},
	{"docs/site", "docs console/web internal/asset", "makes pages of documents; they look as the console does"},
	{"docs/site/write", "docs docs/site", "writes those pages to a folder"},

	{"cli/style", "internal/plain", "how text looks on a terminal"},
	{"cli/usage", "cli/style", "the commands of a program as data; knows none of them"},
	{"cli/client", "internal/nearest internal/plain internal/wake audit auth flexmatch/explain hosts/protocol hosts/shell", "a client like any other: it speaks HTTP; documents are read with the types that they were written from"},
	{"setup", "internal/yamlfile", "a file, and what it takes to make a server so: pure, so it knows no server"},
	{"setup/live", "internal/archive internal/plain internal/wake setup", "a client like any other: what it does is what AWS's client can do"},
	{"cli/contexts", "internal/atomicfile internal/nearest internal/yamlfile", "a user's servers and keys in a file"},
	{"cli/terminal", "cli/client cli/style internal/plain internal/wake setup", "shows what the client reads"},

	{"agent/handover", "agent/disk", "sockets that the next agent goes on with; knows nothing of what is said on them"},
	{"agent/collector", "agent/handover", "hears what SDKs say of a process on its own machine"},
	{"agent/diagnose", "", "reads files and says what is wrong with them"},
	{"agent/disk", "internal/atomicfile", "files of the agent itself"},
	{"agent/engine", "hosts/protocol internal/registry", "container groups on the engine of a machine, whoever asks"},
	{"agent/engine/enginetest", "", "starts engines for tests; knows nothing of Muster"},
	{"agent/engine/enginetest/puppet", "", "a program in images of tests"},
	{"agent/group", "agent/diagnose agent/disk agent/engine agent/gameapi agent/legacy agent/logs agent/ports agent/relay agent/shell agent/supervise hosts/protocol hosts/shell internal/state internal/tracing internal/wake", "runs the container groups of one instance by the machine's engine; knows neither the agent nor its link"},
	{"agent/logs", "hosts/protocol", "archives of logs, whatever wrote them"},
	{"agent/install", "internal/archive internal/wake", "brings builds onto a machine, whoever asks"},
	{"agent/isolate", "", "control groups of the machine"},
	{"agent/jail", "agent/disk agent/isolate agent/supervise hosts/protocol", "who runs as which user, and sees what; knows no instance"},
	{"agent/ports", "", "who has which port on a machine"},
	{"agent/link", "hosts/protocol internal/release internal/wake", "joins and talks for any agent, of a machine or of a cluster; what is said is the host's"},
	{"agent/link/linktest", "certificate hosts/protocol internal/wait", "the server that agents link with, for tests of agents"},
	{"agent/relay", "agent/disk agent/handover agent/ports hosts/protocol internal/gameframe internal/sniff internal/wake", "a door on the loopback interface, and the agent's side of the link"},
	{"sim", "internal/nearest internal/plain flexmatch/life flexmatch/ruleset flexmatch/search flexmatch/search/pool flexmatch/explain flexmatch/trace", "plays matchmaking without a server: the pure parts, and players of its own"},

	{"agent/shell", "hosts/protocol hosts/shell", "runs a program for a client; how it is isolated is given to it"},
	{"agent/supervise", "agent/disk", "one process's life, wherever it is needed"},
	{"agent/gamelink", "internal/gameframe internal/wake", "the connection of one game server process, whatever speaks for it"},
	{"agent/gameapi", "agent/disk agent/gamelink agent/handover agent/ports", "an HTTP interface for programs of this machine, by which they say what a Server SDK would; knows no instance"},
	{"agent/legacy/wire", "", "messages and frames of old SDKs, without connections"},
	{"agent/legacy", "agent/disk agent/gamelink agent/handover agent/legacy/wire internal/wake", "what old SDKs expect on their machine; knows no instance"},
	{"agent/gamequery", "", "what server browsers ask of game servers, whoever asks"},
	{"agent/wrap", "agent/diagnose agent/gameapi agent/gamelink agent/gamequery agent/legacy", "a game server process of its own, which speaks as any SDK does"},
	{"agent/instance", "agent/... hosts/protocol hosts/shell internal/state internal/tracing internal/wake", "runs one instance with the parts below; knows neither the agent nor its link"},
	{"agent", "agent/... hosts/protocol hosts/shell internal/release internal/tracing internal/wake", "runs on machines without a server: of Muster it knows the protocol alone"},

	{"app/host", ground + " agent agent/group agent/instance agent/jail agent/legacy agent/ports agent/supervise hosts/protocol " + domain, "runs the agent in this process, beside the domain that it serves"},
	{"bots", "internal/wake sdk/session sdk/session/filter sdk/session/player beacon cli/client", "players like any other: they know the client libraries, and measure latency; what the keys of an operator allow, they do as the command line does"},

	{"app/demo", ground + " internal/wake app/host " + domain, "sets up a game on a running Muster and keeps its processes alive"},
	{"app/lab", ground + " console sim flexmatch/lint flexmatch/trace flexmatch/ruleset", "plays rule sets beside the server that asks for it, within its bounds"},
	{"app/pages", ground + " internal/plain internal/wake cli/client console flexmatch/explain flexmatch/life identity lobby " + domain, "what the console's pages show of the domain"},
	{"app", "...", "puts it together: the one package that knows everyone"},
	{"cmd/...", "internal/address internal/atomicfile internal/door internal/heap internal/limit internal/nearest internal/registry internal/release internal/plain internal/telemetry internal/tracing internal/yamlfile audit auth/oidc app beacon bots event event/archive fleet/price placement/remote app/... agent agent/... hosts/protocol cli/client cli/contexts cli/style cli/terminal cli/usage backend flexmatch/lint flexmatch/ruleset flexmatch/search/pool flexmatch/cases flexmatch/trace notify setup setup/live sim", "turns flags into options; rule sets are checked, and archives of events read, without a server"},
	{"test/...", "...", "black box: starts the app or the binary and speaks its protocols"},
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		r, ok := rowOf(p.path)
		if !ok {
			t.Errorf("%s has no row in the import table: add one, with the reason", p.path)
			continue
		}
		for _, imported := range p.imports {
			if outside(imported) && !strings.HasPrefix(p.path, "test/") {
				t.Errorf("%s imports %s: nobody builds on tests or on commands", p.path, imported)
			}
			if !allowed(r.may, imported) {
				t.Errorf("%s imports %s; it may import %q, because: %s", p.path, imported, r.may, r.why)
			}
		}
	}
}

// Every row must fit a package and give a reason.
func TestImports_NoIdleRows(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		if r, ok := rowOf(p.path); ok {
			used[r.path] = true
		}
	}
	for _, r := range rows {
		if !used[r.path] {
			t.Errorf("the row of %s fits no package: remove it", r.path)
		}
		if r.why == "" {
			t.Errorf("the row of %s gives no reason", r.path)
		}
	}
}

func rowOf(path string) (row, bool) {
	at := slices.IndexFunc(rows, func(r row) bool { return fits(r.path, path) })
	if at < 0 {
		return row{}, false
	}
	return rows[at], true
}

func allowed(may, imported string) bool {
	return slices.ContainsFunc(strings.Fields(may), func(name string) bool { return fits(name, imported) })
}

// fits reports whether a name of the table stands for the package at path.
func fits(name, path string) bool {
	if name == "..." {
		return true
	}
	if below, ok := strings.CutSuffix(name, "/..."); ok {
		return strings.HasPrefix(path, below+"/")
	}
	return name == path
}

func outside(path string) bool {
	return strings.HasPrefix(path, "test/") || strings.HasPrefix(path, "cmd/")
}
