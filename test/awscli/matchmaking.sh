#!/usr/bin/env bash
# Matchmaking from rule set to game session: a match that has to be accepted, a
# backfill of its game session, and what is refused.
set -uo pipefail
cd "$(dirname "$0")" && . ./checks.sh
work="$(mktemp -d)"
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT

gl create-location --location-name custom-home >/dev/null
fleet=$(gl create-fleet --name f --compute-type ANYWHERE --locations Location=custom-home --query FleetAttributes.FleetId)
endpoint=$(gl register-compute --fleet-id "$fleet" --compute-name host --location custom-home --ip-address 127.0.0.1 \
	--query Compute.GameLiftServiceSdkEndpoint)
token=$(gl get-compute-auth-token --fleet-id "$fleet" --compute-name host --query AuthToken)
mkfifo "$work/said"
tail -f /dev/null | GAMELIFT_SDK_WEBSOCKET_URL="$endpoint" GAMELIFT_SDK_AUTH_TOKEN="$token" GAMELIFT_SDK_FLEET_ID="$fleet" \
	GAMELIFT_SDK_HOST_ID=host GAMELIFT_SDK_PROCESS_ID=p "$GAMESERVER" >"$work/said" &
exec {said}<"$work/said"
read -r -t 60 line <&"$said"
check "a game server is ready" "$line" ready

cat >"$work/rules" <<'END'
{ "ruleLanguageVersion": "1.0", // one team, two to four players
  "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
  "teams": [{"name": "squad", "minPlayers": 2, "maxPlayers": 4}],
  "rules": [{"name": "close", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 20}] }
END
check "the rule set is valid" "$(gl validate-matchmaking-rule-set --rule-set-body "file://$work/rules")" True
gl create-matchmaking-rule-set --name squad --rule-set-body "file://$work/rules" >/dev/null
refused "a rule set without teams is not" InvalidRequestException \
	gl create-matchmaking-rule-set --name bad --rule-set-body '{"ruleLanguageVersion":"1.0"}'
arn=$(gl describe-fleet-attributes --fleet-ids "$fleet" --query 'FleetAttributes[0].FleetArn')
queue=$(gl create-game-session-queue --name q --destinations "DestinationArn=$arn" --query GameSessionQueue.GameSessionQueueArn)
check "a configuration uses a queue unless it says otherwise" \
	"$(gl create-matchmaking-configuration --name mm --rule-set-name squad --game-session-queue-arns "$queue" \
		--request-timeout-seconds 120 --acceptance-required --acceptance-timeout-seconds 60 \
		--query Configuration.FlexMatchMode)" WITH_QUEUE

# becomes TICKET STATUS
becomes() {
	local status=
	for _ in $(seq 60); do
		status=$(gl describe-matchmaking --ticket-ids "$1" --query 'TicketList[0].Status')
		[ "$status" = "$2" ] && break
	done
	check "ticket $1 becomes $2" "$status" "$2"
}
enter() { # TICKET PLAYER SKILL
	gl start-matchmaking --ticket-id "$1" --configuration-name mm --query MatchmakingTicket.Status \
		--players "PlayerId=$2,PlayerAttributes={skill={N=$3}}"
}
accept() { gl accept-match --ticket-id "$1" --player-ids "$2" --acceptance-type ACCEPT; }

check "a ticket begins QUEUED" "$(enter a ann 10)" QUEUED
enter b bob 25 >/dev/null
becomes a REQUIRES_ACCEPTANCE
accept a ann
accept b bob
becomes a COMPLETED
game=$(gl describe-matchmaking --ticket-ids a --query 'TicketList[0].GameSessionConnectionInfo.GameSessionArn')
read -r -t 60 line <&"$said"
check "the game server has activated the game session" "$line" "activated $game"
check "both tickets lead to it" "$(gl describe-matchmaking --ticket-ids b --query 'TicketList[0].GameSessionConnectionInfo.GameSessionArn')" "$game"
check "each player has a slot" "$(gl describe-player-sessions --game-session-id "$game" --query 'length(PlayerSessions)')" 2
check "its matchmaker data names the match" \
	"$(gl describe-game-sessions --game-session-id "$game" --query 'GameSessions[0].MatchmakerData' | cut -c1-12)" '{"matchId":"'
refused "a ticket's id is not for two" InvalidRequestException enter a ann 10
refused "what is over cannot be stopped" InvalidRequestException gl stop-matchmaking --ticket-id a

gl start-match-backfill --ticket-id fill --configuration-name mm --game-session-arn "$game" \
	--players PlayerId=ann,Team=squad PlayerId=bob,Team=squad >/dev/null
enter c cid 12 >/dev/null
becomes c REQUIRES_ACCEPTANCE
accept c cid
becomes fill COMPLETED
becomes c COMPLETED
check "who comes later plays in the same game" \
	"$(gl describe-matchmaking --ticket-ids c --query 'TicketList[0].GameSessionConnectionInfo.GameSessionArn')" "$game"
check "and has a slot there" "$(gl describe-player-sessions --game-session-id "$game" --query 'length(PlayerSessions)')" 3

enter d dan 10 >/dev/null
gl stop-matchmaking --ticket-id d
becomes d CANCELLED
check "unknown tickets are left out" "$(gl describe-matchmaking --ticket-ids none --query 'length(TicketList)')" 0
refused "a configuration that is not there" NotFoundException gl start-matchmaking --configuration-name none --players PlayerId=p
exit "$failed"
