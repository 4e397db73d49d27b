package main

import "github.com/musterhq/muster/cli/usage"

// examples are command lines by the path of their command. A test parses each.
var examples = map[string][]usage.Example{
	"local": {
		{Line: "muster local", Does: "A whole game platform with a demo game, in one process"},
		{Line: "muster local --exec ./server -- --port {port}", Does: "Host your own game server program"},
		{Line: "muster local --exec python3 --reload game.py -- game.py", Does: "Start your game servers anew whenever the file changes"},
		{Line: "muster local --exec python3 --no-sdk -- game.py", Does: "Host a program that knows no SDK"},
	},
	"demo play": {{Line: "muster demo play --players 8", Does: "Watch a game from its creation to its end"}},
	"bots":      {{Line: "muster bots --players 200 --via matchmaking", Does: "Have 200 bots find games by matchmaking"}},
	"login": {
		{Line: "muster login https://muster.example.com", Does: "Asks for the key"},
		{Line: "muster login https://10.0.0.5:9080 --name lab --ca server-cert.pem --credentials admin-credentials", Does: "A server with a certificate of its own"},
	},
	"context": {
		{Line: "muster context", Does: "The servers that you have logged in to"},
		{Line: "muster context lab", Does: "Use another one of them"},
	},
	"logout": {{Line: "muster logout lab", Does: "Forget a server and its key"}},
	"preflight": {
		{Line: "muster preflight ./out --launch-path server", Does: "Try the program 'server' in the folder ./out as a fleet would"},
		{Line: "muster preflight game.zip --launch-path /local/game/server --parameters=-log", Does: "Try an archive, with parameters"},
	},

	"deploy": {
		{Line: "muster deploy ./out --fleet live", Does: "Upload the build in ./out and move the fleet to it"},
		{Line: "muster deploy ./out --fleet live --canary 10% --for 15m", Does: "Try it on a tenth of the instances for 15 minutes first"},
		{Line: "muster deploy --fleet live --rollback", Does: "Take it back"},
	},
	"apply": {
		{Line: "muster apply --plan", Does: "Show what would change to match muster.yaml"},
		{Line: "muster apply -f staging.yaml --yes", Does: "Change it without asking"},
	},
	"export": {
		{Line: "muster export --out muster.yaml", Does: "Write the set-up of a server as a file"},
		{Line: "muster export --bundle game.zip", Does: "Write the set-up with its builds, to hand the game over"},
		{Line: "muster export --bundle game.zip --players", Does: "And with the players"},
	},
	"import aws":    {{Line: "muster import aws --profile studio --region eu-west-1 --out muster.yaml", Does: "Read the set-up of an AWS account"}},
	"ruleset check": {{Line: "muster ruleset check rules.json", Does: "Find everything that is wrong with a rule set"}},
	"simulate": {
		{Line: "muster simulate --ruleset rules.json --players players.yaml", Does: "Play an hour of matchmaking"},
		{Line: "muster simulate --ruleset rules.json --players players.yaml --seeds 20", Does: "Play it 20 times, to tell what is chance"},
		{Line: "muster simulate --compare old.json new.json --players players.yaml", Does: "Compare two rule sets on the same players"},
		{Line: "muster simulate --ruleset rules.json --players players.yaml --open", Does: "See the report as a page with charts, in the browser"},
		{Line: "muster simulate --ruleset rules.json --players players.yaml -o html --out report.html", Does: "Write that page to a file"},
	},
	"wrap": {{Line: "muster wrap -- ./server --port {{.GamePort}}", Does: "Start in a build's launch script, in place of the program"}},

	"status": {
		{Line: "muster status", Does: "Whether players can play now, where not, and what happened lately"},
		{Line: "muster status --watch", Does: "Again and again"},
	},
	"fleets list": {
		{Line: "muster fleets", Does: "All fleets with their instances, game sessions and players"},
		{Line: "muster fleets --status ERROR", Does: "Those that have failed"},
		{Line: "muster fleets --by-location --watch", Does: "A line for each location, again and again"},
	},
	"sessions list": {
		{Line: "muster sessions --status ACTIVE", Does: "The game sessions that are being played"},
		{Line: "muster sessions --watch", Does: "All of them, again and again"},
	},
	"cost": {
		{Line: "muster cost", Does: "What fleets cost now, and an hour of a player"},
		{Line: "muster cost --watch", Does: "Again and again"},
	},
	"fleets show": {{Line: "muster fleets show live", Does: "One fleet with its locations and last events"}},
	"fleets scale": {
		{Line: "muster fleets scale live --desired 4", Does: "Four instances"},
		{Line: "muster fleets scale live --location custom-lab --min 1 --desired 4 --max 8", Does: "In one of several locations, from one to eight"},
	},
	"sessions show":      {{Line: "muster sessions show gsess-01a2092a", Does: "One game session with its players"}},
	"sessions end":       {{Line: "muster sessions end gsess-01a2092a", Does: "Tell its game server to end"}},
	"tickets list":       {{Line: "muster tickets five-v-five --status SEARCHING", Does: "Who waits for a match, longest first"}},
	"sessions logs":      {{Line: "muster sessions logs --follow gsess-01a2092a", Does: "What a game session's server writes"}},
	"queues":             {{Line: "muster queues", Does: "The queues and what waits in them"}},
	"placements explain": {{Line: "muster placements explain 5f3c-placement", Does: "Why a placement has no game session"}},
	"tickets explain":    {{Line: "muster tickets explain ticket-1", Does: "Why a ticket has no match"}},
	"tickets overview":   {{Line: "muster tickets overview five-v-five", Does: "Which rules keep players waiting"}},
	"tickets export":     {{Line: "muster tickets export five-v-five --last 24h --out day.jsonl", Does: "The tickets of a day, as input for simulate"}},
	"players show":       {{Line: "muster players show player-1", Does: "Everything that is known of a player"}},
	"players ban":        {{Line: "muster players ban player-1 --until 7d --reason \"aimbot\"", Does: "Keep a player out for a week"}},
	"players unban":      {{Line: "muster players unban player-1", Does: "Let the player in again"}},
	"events": {
		{Line: "muster events --follow", Does: "What happens, as it happens"},
		{Line: "muster events --fleet live --last 100", Does: "The last 100 events of a fleet"},
		{Line: "muster events --session gsess-01a2092a", Does: "The last events of a game session"},
		{Line: "muster events --archive s3://my-events/muster --since 30d --code HOST_LOST", Does: "When machines were lost in the last 30 days, from the archive"},
	},
	"webhooks list":  {{Line: "muster webhooks", Does: "Who receives notifications, and how that goes"}},
	"webhooks dead":  {{Line: "muster webhooks dead billing", Does: "What a receiver did not take, and why"}},
	"webhooks again": {{Line: "muster webhooks again billing", Does: "Send it once more"}},
	"hosts list": {
		{Line: "muster hosts", Does: "The machines, and what runs on them"},
		{Line: "muster hosts --status away", Does: "Those whose agent is not connected"},
	},
	"hosts shortages": {
		{Line: "muster hosts shortages", Does: "What fleets desire that no machine has room for"},
	},
	"hosts show":   {{Line: "muster hosts show build-machine", Does: "One machine with its game servers"}},
	"hosts drain":  {{Line: "muster hosts drain build-machine", Does: "Empty a machine without ending a game"}},
	"hosts resume": {{Line: "muster hosts resume build-machine", Does: "Use it again"}},
	"hosts remove": {
		{Line: "muster hosts remove build-machine", Does: "Forget a machine when its games have ended"},
		{Line: "muster hosts remove build-machine --now", Does: "Do not wait for them"},
	},
	"hosts rotate": {{Line: "muster hosts rotate build-machine", Does: "Replace the credential of a machine"}},
	"shell": {
		{Line: "muster shell arena i-01a2", Does: "A shell in an instance of the fleet arena"},
		{Line: "muster shell arena i-01a2 -- ls -l", Does: "One program in it"},
	},
	"ca": {{Line: "muster ca > ca.pem", Does: "Keep the certificate for the game's clients"}},

	"serve": {
		{Line: "muster serve --listen 0.0.0.0:9080 --tls-cert cert.pem --tls-key key.pem", Does: "A server for other machines"},
		{Line: "muster serve --config /etc/muster/server.yaml", Does: "Flags from a file"},
	},
	"agent run": {
		{Line: "muster agent --endpoint https://muster.example.com --token-file token", Does: "Let this machine host game servers"},
	},
	"agent cleanup": {{Line: "muster agent cleanup --root /var/lib/muster-agent", Does: "End what a dead agent left behind"}},
	"health":        {{Line: "muster health", Does: "Whether the server on this machine accepts work"}},
	"beacon":        {{Line: "muster beacon --location custom-office", Does: "Answer players who measure their latency"}},

	"admin keys create": {
		{Line: "muster admin keys create ci --role operator --expires 90d", Does: "A key for a machine that deploys"},
		{Line: "muster admin keys create lobby --role game-backend", Does: "A key for a game's backend"},
	},
	"admin keys list":          {{Line: "muster admin keys list", Does: "The keys, and when they were last used"}},
	"admin keys first":         {{Line: "muster admin keys first --data /var/lib/muster", Does: "Show the key, such as from within a container"}},
	"admin keys disable":       {{Line: "muster admin keys disable MSTR0123456789ABCDEF", Does: "Refuse a key for now"}},
	"admin keys enable":        {{Line: "muster admin keys enable MSTR0123456789ABCDEF", Does: "Accept it again"}},
	"admin keys rotate":        {{Line: "muster admin keys rotate MSTR0123456789ABCDEF --old-until 24h", Does: "Replace a key; the old one is good for another day"}},
	"admin keys delete":        {{Line: "muster admin keys delete MSTR0123456789ABCDEF", Does: "Delete a key"}},
	"admin logins list":        {{Line: "muster admin logins", Does: "Who is logged in to the console"}},
	"admin logins end":         {{Line: "muster admin logins end login-01a2", Does: "Log somebody out"}},
	"admin join-token":         {{Line: "muster admin join-token --location custom-office", Does: "A token for one machine"}},
	"admin join-tokens create": {{Line: "muster admin join-tokens create --location custom-office --uses 20 --life 24h", Does: "A token for up to 20 machines"}},
	"admin join-tokens list":   {{Line: "muster admin join-tokens list", Does: "The tokens that can still be used"}},
	"admin join-tokens revoke": {{Line: "muster admin join-tokens revoke jt-01a2", Does: "End a token"}},
	"admin servers":            {{Line: "muster admin servers", Does: "The servers of this deployment and their releases"}},
	"admin backup":             {{Line: "muster admin backup state.db --data /var/lib/muster", Does: "Write a backup while the server runs"}},
	"admin restore":            {{Line: "muster admin restore state.db --data /var/lib/muster", Does: "Fill an empty data directory from it"}},
	"admin verify": {
		{Line: "muster admin verify state.db", Does: "Check a backup"},
		{Line: "muster admin verify --data /var/lib/muster", Does: "Check the state itself"},
	},
	"admin audit list":   {{Line: "muster admin audit --since 24h --action DeleteFleet", Does: "Who deleted fleets today"}},
	"admin audit verify": {{Line: "muster admin audit verify", Does: "Check that nobody changed the audit log"}},
	"replay":             {{Line: "muster replay commands.rec", Does: "Run a recording again and compare"}},

	"version":         {{Line: "muster version -o json", Does: "The version, for programs"}},
	"completion bash": {{Line: "source <(muster completion bash)", Does: "Complete commands and flags in this shell"}},
	"completion zsh":  {{Line: "source <(muster completion zsh)", Does: "Complete commands and flags in this shell"}},
	"completion fish": {{Line: "muster completion fish | source", Does: "Complete commands and flags in this shell"}},
	"help":            {{Line: "muster help sessions logs", Does: "How a command is used"}, {Line: "muster help -o json", Does: "All commands with their flags, for programs"}},
}
