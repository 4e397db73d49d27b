#!/usr/bin/env bash
# A game server group from the command line, as docs/fleetiq.md shows it: a game server
# registers on the host of `muster local`, is claimed and hosts a game; the group is
# deleted with force.
set -uo pipefail
cd "$(dirname "$0")" && . ./checks.sh

group=(--game-server-group-name arena)
one=("${group[@]}" --game-server-id server-1)

create() {
	gl create-game-server-group "${group[@]}" --role-arn arn:aws:iam::000000000000:role/unused --min-size 1 --max-size 10 \
		--launch-template LaunchTemplateName=unused --instance-definitions InstanceType=c5.large InstanceType=c5.xlarge \
		--tags "Key=muster:location,Value=$1" --query GameServerGroup.Status
}

refused "no group has the name" NotFoundException gl describe-game-server-group "${group[@]}"
check "a group is ACTIVE at once" "$(create us-east-1)" ACTIVE
refused "its name is taken" ConflictException create us-east-1
arn=$(gl describe-game-server-group "${group[@]}" --query GameServerGroup.GameServerGroupArn)
check "its ARN names it too" "$(gl describe-game-server-group --game-server-group-name "$arn" --query GameServerGroup.GameServerGroupName)" arena

check "it is listed by name" "$(gl list-game-server-groups --query 'GameServerGroups[].GameServerGroupName')" arena
check "it is changed" "$(gl update-game-server-group "${group[@]}" --balancing-strategy ON_DEMAND_ONLY --query GameServerGroup.BalancingStrategy)" ON_DEMAND_ONLY
check "it is suspended" "$(gl suspend-game-server-group "${group[@]}" --suspend-actions REPLACE_INSTANCE_TYPES --query 'GameServerGroup.SuspendedActions[]')" REPLACE_INSTANCE_TYPES
check "it is resumed" "$(gl resume-game-server-group "${group[@]}" --resume-actions REPLACE_INSTANCE_TYPES --query 'length(GameServerGroup.SuspendedActions)')" 0

instance=$(gl describe-game-server-instances "${group[@]}" --query 'GameServerInstances[0].InstanceId')
check "the host is an instance" "$(gl describe-game-server-instances "${group[@]}" --instance-ids "$instance" --query 'GameServerInstances[].InstanceStatus')" ACTIVE

gl register-game-server "${one[@]}" --instance-id "$instance" --connection-info 192.0.2.1:7777 >/dev/null
gl update-game-server "${one[@]}" --health-check HEALTHY >/dev/null
check "a claim returns where to connect" "$(gl claim-game-server "${group[@]}" --game-server-data map=7 \
	--filter-option InstanceStatuses=ACTIVE --query 'GameServer.[GameServerId,ConnectionInfo,ClaimStatus]' | tr '\t' ' ')" "server-1 192.0.2.1:7777 CLAIMED"
refused "nothing else is free" OutOfCapacityException gl claim-game-server "${group[@]}"
check "the game begins" "$(gl update-game-server "${one[@]}" --utilization-status UTILIZED --health-check HEALTHY \
	--query 'GameServer.[UtilizationStatus,ClaimStatus]' | tr '\t' ' ')" "UTILIZED None"
refused "it is not AVAILABLE again" InvalidRequestException gl update-game-server "${one[@]}" --utilization-status AVAILABLE
check "it is listed" "$(gl list-game-servers "${group[@]}" --query 'GameServers[].GameServerId')" server-1

check "a safe deletion waits" "$(gl delete-game-server-group "${group[@]}" --query GameServerGroup.Status)" DELETE_SCHEDULED
refused "a group is deleted once" InvalidRequestException gl delete-game-server-group "${group[@]}" --delete-option FORCE_DELETE
gl deregister-game-server "${one[@]}"
gone() {
	for _ in $(seq 40); do
		gl describe-game-server-group "${group[@]}" >/dev/null 2>&1 || return 0
	done
	return 1
}
gone
check "the group goes when the game has ended" $? 0

check "the name is free again" "$(create us-east-1)" ACTIVE
gl register-game-server "${one[@]}" --instance-id "$instance" >/dev/null
gl update-game-server "${one[@]}" --utilization-status UTILIZED >/dev/null
gl delete-game-server-group "${group[@]}" --delete-option FORCE_DELETE >/dev/null
gone
check "FORCE_DELETE does not wait" $? 0
exit "$failed"
