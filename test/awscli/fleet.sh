#!/usr/bin/env bash
# A managed fleet by the AWS CLI: a build is uploaded, a fleet is created from it
# and hosted by muster local's own agent, a game session starts, the runtime
# configuration changes beside it, ports open and close, scaling stops and goes on,
# capacity changes, the game session's logs are fetched, a fleet that cannot run
# says why, and the fleets are deleted.
set -uo pipefail
cd "$(dirname "$0")" && . ./checks.sh
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# until_is WHAT WANT COMMAND…: asks until the answer is the wanted one.
until_is() {
	local what="$1" want="$2" got
	shift 2
	for _ in $(seq 120); do
		got="$("$@")"
		[ "$got" = "$want" ] && break
	done
	check "$what" "$got" "$want"
}
fleet_status() { gl describe-fleet-attributes --fleet-ids "$1" --query 'FleetAttributes[0].Status'; }
codes() { gl describe-fleet-events --fleet-id "$1" --query 'Events[].EventCode' | tr '\t' '\n'; }

mkdir -p "$work/build"
cp "$ARENA_BIN" "$work/build/arena"
build=$(AWS_ENDPOINT_URL="$ENDPOINT" aws gamelift upload-build --build-root "$work/build" --name game --build-version 1 \
	--operating-system AMAZON_LINUX_2023 | sed -n 's/^Build ID: //p')
until_is "the build is READY" READY gl describe-build --build-id "$build" --query Build.Status

refused "a build that is not there" NotFoundException gl create-fleet --name none --build-id build-00000000-0000-0000-0000-000000000000 \
	--ec2-instance-type c5.large --runtime-configuration 'ServerProcesses=[{LaunchPath=/local/game/arena,ConcurrentExecutions=1}]'
refused "nothing to launch" InvalidRequestException gl create-fleet --name none --build-id "$build" --ec2-instance-type c5.large
runtime='ServerProcesses=[{LaunchPath=/local/game/arena,Parameters="server -port {{.GamePort}} -wait 10m",ConcurrentExecutions=2}]'
fleet=$(gl create-fleet --name game --build-id "$build" --ec2-instance-type c5.large \
	--ec2-inbound-permissions FromPort=20000,ToPort=29999,IpRange=0.0.0.0/0,Protocol=UDP \
	--runtime-configuration "$runtime" --query FleetAttributes.FleetId)
until_is "the fleet becomes ACTIVE" ACTIVE fleet_status "$fleet"
for code in FLEET_STATE_DOWNLOADING FLEET_STATE_VALIDATING FLEET_STATE_BUILDING FLEET_STATE_ACTIVATING FLEET_STATE_ACTIVE; do
	check "its events tell $code once" "$(codes "$fleet" | grep -cx "$code")" 1
done
check "it is listed by its build" "$(gl list-fleets --build-id "$build" --query 'FleetIds')" "$fleet"
instance=$(gl describe-instances --fleet-id "$fleet" --query 'Instances[0].InstanceId')
check "its instance is ACTIVE" "$(gl describe-instances --fleet-id "$fleet" --query 'Instances[0].Status')" ACTIVE
check "which is its compute" "$(gl list-compute --fleet-id "$fleet" --query 'ComputeList[].ComputeName')" "$instance"
check "capacity counts it" \
	"$(gl describe-fleet-capacity --fleet-ids "$fleet" --query 'FleetCapacity[0].InstanceCounts.[DESIRED,ACTIVE,IDLE]' | tr '\t' ' ')" "1 1 1"
refused "a shell that the server was not started for" InvalidRequestException gl get-compute-access --fleet-id "$fleet" --compute-name "$instance"
refused "a login likewise" InvalidRequestException gl get-instance-access --fleet-id "$fleet" --instance-id "$instance"
refused "a shell on a compute that is not there" NotFoundException gl get-compute-access --fleet-id "$fleet" --compute-name i-00000000000000000
refused "a login likewise" NotFoundException gl get-instance-access --fleet-id "$fleet" --instance-id i-00000000000000000
refused "a shell in a fleet that is not there" NotFoundException gl get-compute-access --fleet-id fleet-00000000-0000-0000-0000-000000000000 --compute-name "$instance"
check "its ports are shown" "$(gl describe-fleet-port-settings --fleet-id "$fleet" --query 'InboundPermissions[0].FromPort')" 20000

session=$(gl create-game-session --fleet-id "$fleet" --maximum-player-session-count 4 --query GameSession.GameSessionId)
until_is "a game session on it becomes ACTIVE" ACTIVE \
	gl describe-game-sessions --game-session-id "$session" --query 'GameSessions[0].Status'
check "its instance is idle no more" \
	"$(gl describe-fleet-location-capacity --fleet-id "$fleet" --location us-east-1 --query FleetCapacity.InstanceCounts.IDLE)" 0

processes() { gl describe-fleet-utilization --fleet-ids "$fleet" --query 'FleetUtilization[0].ActiveServerProcessCount'; }
until_is "two processes run" 2 processes
check "the runtime configuration changes" "$(gl update-runtime-configuration --fleet-id "$fleet" --query RuntimeConfiguration.ServerProcesses[0].ConcurrentExecutions \
	--runtime-configuration "${runtime/ConcurrentExecutions=2/ConcurrentExecutions=3}")" 3
until_is "so a third starts" 3 processes
check "beside the game session" "$(gl describe-game-sessions --game-session-id "$session" --query 'GameSessions[0].Status')" ACTIVE
check "and it is shown" "$(gl describe-runtime-configuration --fleet-id "$fleet" --query RuntimeConfiguration.ServerProcesses[0].ConcurrentExecutions)" 3

ports() { gl describe-fleet-port-settings --fleet-id "$fleet" --query 'InboundPermissions[].[FromPort,ToPort,IpRange,Protocol]' | tr '\t\n' ' ;'; }
more=FromPort=30000,ToPort=30010,IpRange=10.0.0.0/8,Protocol=TCP
gl update-fleet-port-settings --fleet-id "$fleet" --inbound-permission-authorizations "$more" >/dev/null
check "more ports are open" "$(ports)" "20000 29999 0.0.0.0/0 UDP;30000 30010 10.0.0.0/8 TCP;"
gl update-fleet-port-settings --fleet-id "$fleet" --inbound-permission-revocations "$more" >/dev/null
check "and no more" "$(ports)" "20000 29999 0.0.0.0/0 UDP;"
refused "ports that are not open" InvalidRequestException gl update-fleet-port-settings --fleet-id "$fleet" --inbound-permission-revocations "$more"

stopped() { gl describe-fleet-attributes --fleet-ids "$fleet" --query 'join(`,`, FleetAttributes[0].StoppedActions || `[]`)'; }
gl stop-fleet-actions --fleet-id "$fleet" --actions AUTO_SCALING >/dev/null
check "automatic scaling is stopped" "$(stopped)" AUTO_SCALING
gl start-fleet-actions --fleet-id "$fleet" --actions AUTO_SCALING >/dev/null
check "and goes on" "$(stopped)" ""

refused "more than the maximum" InvalidRequestException gl update-fleet-capacity --fleet-id "$fleet" --desired-instances 2
gl update-fleet-capacity --fleet-id "$fleet" --desired-instances 2 --max-size 2 >/dev/null
active() { gl describe-fleet-capacity --fleet-ids "$fleet" --query 'FleetCapacity[0].InstanceCounts.ACTIVE'; }
until_is "a second instance starts" 2 active
gl update-fleet-capacity --fleet-id "$fleet" --desired-instances 1 >/dev/null
until_is "and goes" 1 active
check "but not the one with the game session" \
	"$(gl describe-game-sessions --game-session-id "$session" --query 'GameSessions[0].Status')" ACTIVE

refused "logs of a game session that runs" NotFoundException gl get-game-session-log-url --game-session-id "$session"
gl terminate-game-session --game-session-id "$session" --termination-mode FORCE_TERMINATE >/dev/null
logs() {
	gl get-game-session-log --game-session-id "$session" --save-as "$work/log.zip" >/dev/null 2>&1 || return
	python3 -m zipfile -l "$work/log.zip" | grep -oE '^[^ ]+' | sed -E 's/.*(stdout.log|exit.txt)$/\1/' | grep -xE 'stdout.log|exit.txt' | sort | tr '\n' ' '
}
until_is "the logs of one that has ended are fetched, with how it ended" "exit.txt stdout.log " logs
refused "no remote access" InvalidRequestException gl get-compute-access --fleet-id "$fleet" --compute-name "$instance"

wrong=$(gl create-fleet --name wrong --build-id "$build" --ec2-instance-type c5.large --query FleetAttributes.FleetId \
	--runtime-configuration 'ServerProcesses=[{LaunchPath=/local/game/nothing,ConcurrentExecutions=1}]')
until_is "a fleet whose launch path is not in the build ends in ERROR" ERROR fleet_status "$wrong"
check "and its events say so" "$(codes "$wrong" | grep -cx FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND)" 1
gl delete-fleet --fleet-id "$wrong"

gl delete-fleet --fleet-id "$fleet"
gone() { gl describe-fleet-attributes --fleet-ids "$fleet" --query 'length(FleetAttributes)'; }
until_is "a deleted fleet goes" 0 gone
exit "$failed"
