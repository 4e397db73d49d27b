#!/usr/bin/env bash
# The example of the API reference's StartGameSessionPlacement: two players, two
# regions, latencies 100/120 and 50/150, a cap of 130 ms for 60 s. Its regions are
# custom locations here; what follows the 60 s is tested in virtual time.
set -uo pipefail
cd "$(dirname "$0")" && . ./checks.sh
work="$(mktemp -d)"
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT

# fleet LOCATION: makes a fleet there with one game server process that is ready.
fleet() {
	local id endpoint token
	gl create-location --location-name "$1" >/dev/null
	id=$(gl create-fleet --name "$1" --compute-type ANYWHERE --locations "Location=$1" --query FleetAttributes.FleetId)
	endpoint=$(gl register-compute --fleet-id "$id" --compute-name host --location "$1" --ip-address 127.0.0.1 \
		--query Compute.GameLiftServiceSdkEndpoint)
	token=$(gl get-compute-auth-token --fleet-id "$id" --compute-name host --query AuthToken)
	mkfifo "$work/$1"
	tail -f /dev/null | GAMELIFT_SDK_WEBSOCKET_URL="$endpoint" GAMELIFT_SDK_AUTH_TOKEN="$token" GAMELIFT_SDK_FLEET_ID="$id" \
		GAMELIFT_SDK_HOST_ID=host GAMELIFT_SDK_PROCESS_ID="$1" "$GAMESERVER" >"$work/$1" &
	exec {said}<"$work/$1"
	read -r -t 60 line <&"$said"
	check "a process is ready in $1" "$line" ready
	arn=$(gl describe-fleet-attributes --fleet-ids "$id" --query 'FleetAttributes[0].FleetArn')
}

# ends ID STATUS: waits until the placement is no longer PENDING.
ends() {
	local status=PENDING
	for _ in $(seq 40); do
		status=$(gl describe-game-session-placement --placement-id "$1" --query GameSessionPlacement.Status)
		[ "$status" = PENDING ] || break
	done
	check "placement $1 ends" "$status" "$2"
}

fleet custom-us-east-1
east=$arn
fleet custom-us-west-2
west=$arn
gl create-game-session-queue --name example --timeout-in-seconds 600 \
	--destinations "DestinationArn=$west" "DestinationArn=$east" \
	--player-latency-policies MaximumIndividualPlayerLatencyMilliseconds=130,PolicyDurationSeconds=60 >/dev/null

cat >"$work/latencies" <<'END'
[{"PlayerId": "p1", "RegionIdentifier": "custom-us-east-1", "LatencyInMilliseconds": 100},
 {"PlayerId": "p1", "RegionIdentifier": "custom-us-west-2", "LatencyInMilliseconds": 50},
 {"PlayerId": "p2", "RegionIdentifier": "custom-us-east-1", "LatencyInMilliseconds": 120},
 {"PlayerId": "p2", "RegionIdentifier": "custom-us-west-2", "LatencyInMilliseconds": 150}]
END
place() { # ID
	gl start-game-session-placement --placement-id "$1" --game-session-queue-name example --maximum-player-session-count 2 \
		--desired-player-sessions PlayerId=p1 PlayerId=p2 --player-latencies "file://$work/latencies" \
		--query GameSessionPlacement.Status
}

check "a placement starts" "$(place first)" PENDING
ends first FULFILLED
check "while the cap holds it goes to the only location without a player above 130 ms, though its mean is the higher" \
	"$(gl describe-game-session-placement --placement-id first --query GameSessionPlacement.GameSessionRegion)" custom-us-east-1
check "both players have their slots" \
	"$(gl describe-game-session-placement --placement-id first --query 'GameSessionPlacement.PlacedPlayerSessions[].PlayerId' | tr '\t' ' ')" "p1 p2"

place second >/dev/null
check "the next one waits, because the free process is in a location above the cap" \
	"$(gl describe-game-session-placement --placement-id second --query GameSessionPlacement.Status)" PENDING
check "what waits can be stopped" "$(gl stop-game-session-placement --placement-id second --query GameSessionPlacement.Status)" CANCELLED
refused "what has ended cannot" InvalidRequestException gl stop-game-session-placement --placement-id second

gl start-game-session-placement --placement-id third --game-session-queue-name example --maximum-player-session-count 2 >/dev/null
ends third FULFILLED
check "without latencies no cap holds" \
	"$(gl describe-game-session-placement --placement-id third --query GameSessionPlacement.GameSessionRegion)" custom-us-west-2
refused "a placement's id is not for two" InvalidRequestException gl start-game-session-placement --placement-id third \
	--game-session-queue-name example --maximum-player-session-count 2
refused "an unknown queue is not found" NotFoundException gl start-game-session-placement --placement-id fourth \
	--game-session-queue-name none --maximum-player-session-count 2
exit "$failed"
