#!/usr/bin/env bash
# Launch a game server, create a game session, add players, validate one, stop
# the session, shut down; with the AWS CLI and nothing but --endpoint-url.
set -uo pipefail

cd "$(dirname "$0")" && . ./checks.sh

# hears WORDS…: the next line of the game server.
hears() {
	local line
	IFS= read -r -t 60 line <&"$from" || line="(nothing)"
	check "the game server says: ${1%% *}" "$line" "$1"
}

check "the caller is an account's user" \
	"$(aws sts get-caller-identity --endpoint-url "$ENDPOINT" --output text --query '[Account, Arn]')" \
	"000000000000	arn:aws:iam::000000000000:user/local"

location=custom-cli
gl create-location --location-name "$location" >/dev/null
refused "a location's name is taken once" ConflictException gl create-location --location-name "$location"
fleet=$(gl create-fleet --name cli --compute-type ANYWHERE --locations "Location=$location" \
	--anywhere-configuration Cost=1 --query FleetAttributes.FleetId)
check "an Anywhere fleet is ACTIVE at once" \
	"$(gl describe-fleet-attributes --fleet-ids "$fleet" --query 'FleetAttributes[0].Status')" ACTIVE
endpoint=$(gl register-compute --fleet-id "$fleet" --compute-name host-1 --location "$location" \
	--ip-address 127.0.0.1 --query Compute.GameLiftServiceSdkEndpoint)
token=$(gl get-compute-auth-token --fleet-id "$fleet" --compute-name host-1 --query AuthToken)
check "the compute is listed" "$(gl list-compute --fleet-id "$fleet" --query 'ComputeList[].ComputeName')" host-1

coproc server {
	GAMELIFT_SDK_WEBSOCKET_URL="$endpoint" GAMELIFT_SDK_AUTH_TOKEN="$token" GAMELIFT_SDK_FLEET_ID="$fleet" \
		GAMELIFT_SDK_HOST_ID=host-1 GAMELIFT_SDK_PROCESS_ID=process-1 "$GAMESERVER"
}
exec {from}<&"${server[0]}" {to}>&"${server[1]}" # bash takes its own away when the process ends
hears ready

read -r game status < <(gl create-game-session --fleet-id "$fleet" --location "$location" --maximum-player-session-count 3 \
	--name friday --game-properties Key=map,Value=winter --query 'GameSession.[GameSessionId,Status]')
check "a new game session is ACTIVATING" "$status" ACTIVATING
hears "activated $game"
check "and then ACTIVE" "$(gl describe-game-sessions --game-session-id "$game" --query 'GameSessions[0].Status')" ACTIVE
check "its properties are kept" \
	"$(gl describe-game-sessions --game-session-id "$game" --query 'GameSessions[0].GameProperties[0].Value')" winter
refused "there is no second process" FleetCapacityExceededException \
	gl create-game-session --fleet-id "$fleet" --location "$location" --maximum-player-session-count 3

player=$(gl create-player-session --game-session-id "$game" --player-id ana --query PlayerSession.PlayerSessionId)
echo "accept $game $player" >&"$to"
hears "accepted $player"
check "a validated player session is ACTIVE" \
	"$(gl describe-player-sessions --player-session-id "$player" --query 'PlayerSessions[0].Status')" ACTIVE
gl create-player-sessions --game-session-id "$game" --player-ids ben eve >/dev/null
refused "the game session is full" GameSessionFullException gl create-player-session --game-session-id "$game" --player-id joe
check "pages of one give all three players" \
	"$(gl describe-player-sessions --game-session-id "$game" --page-size 1 --query 'PlayerSessions[].PlayerId' | tr '\t\n' '  ' | xargs)" "ana ben eve"
echo "remove $game $player" >&"$to"
hears "removed $player"
check "who left is COMPLETED" \
	"$(gl describe-player-sessions --player-session-id "$player" --query 'PlayerSessions[0].Status')" COMPLETED

gl update-game-session --game-session-id "$game" --name saturday --player-session-creation-policy DENY_ALL >/dev/null
check "it is found by its new name" \
	"$(gl search-game-sessions --fleet-id "$fleet" --filter-expression "gameSessionName='saturday' AND playerSessionCount=2" --query 'GameSessions[0].GameSessionId')" "$game"
refused "it takes no new players" InvalidGameSessionStatusException gl create-player-session --game-session-id "$game" --player-id joe
refused "a wrong filter is refused" InvalidRequestException gl search-game-sessions --fleet-id "$fleet" --filter-expression "colour='red'"

check "it is told to end" "$(gl terminate-game-session --game-session-id "$game" \
	--termination-mode TRIGGER_ON_PROCESS_TERMINATE --query GameSession.Status)" TERMINATING
hears terminated
hears ended
check "it ended, and says why" "$(gl describe-game-sessions --game-session-id "$game" \
	--query 'GameSessions[0].[Status,StatusReason]' | tr '\t' ' ')" "TERMINATED TRIGGERED_ON_PROCESS_TERMINATE"

gl deregister-compute --fleet-id "$fleet" --compute-name host-1
gl delete-fleet --fleet-id "$fleet"
refused "a fleet that never was is not found" NotFoundException \
	gl describe-fleet-location-attributes --fleet-id fleet-00000000-0000-0000-0000-000000000000
exit "$failed"
