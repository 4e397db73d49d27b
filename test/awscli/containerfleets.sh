#!/usr/bin/env bash
# A container fleet from the command line, and its deployments. No machine is there, so that
# it does not become ACTIVE.
set -uo pipefail
cd "$(dirname "$0")" && . ./checks.sh

digest=sha256:$(printf 'a%.0s' {1..64})
role=(--fleet-role-arn arn:aws:iam::000000000000:role/r)

define() { # a name: the ARN of its first version
	gl create-container-group-definition --name "$1" --operating-system AMAZON_LINUX_2023 \
		--total-memory-limit-mebibytes 1024 --total-vcpu-limit 1 --game-server-container-definition \
		"{\"ContainerName\": \"game\", \"ImageUri\": \"registry.example/arena@$digest\", \"ServerSdkVersion\": \"5.4.0\",
		\"PortConfiguration\": {\"ContainerPortRanges\": [{\"FromPort\": 7000, \"ToPort\": 7001, \"Protocol\": \"UDP\"}]}}" \
		--query ContainerGroupDefinition.ContainerGroupDefinitionArn
}
create() { gl create-container-fleet "${role[@]}" "$@" --query 'ContainerFleet.[FleetId,Status]' | tr '\t' ' '; }

begun() { tr '\t' ' ' | sed 's/PENDING\|IN_PROGRESS/BEGUN/'; } # which of the two is a matter of time

first=$(define arena)
refused "an unknown definition" InvalidRequestException create --game-server-container-group-definition-name none
refused "more groups than fit" InvalidRequestException create --game-server-container-group-definition-name arena \
	--instance-type c5.large --game-server-container-groups-per-instance 3
refused "reserved ports" InvalidRequestException create --game-server-container-group-definition-name arena \
	--instance-connection-port-range FromPort=4100,ToPort=4300
read -r fleet status < <(create --instance-type c5.large)
check "without a game server group it is CREATED" "$status" CREATED
refused "it has no deployment" NotFoundException gl describe-fleet-deployment --fleet-id "$fleet"
check "a definition sets it in motion" "$(gl update-container-fleet --fleet-id "$fleet" --game-server-container-group-definition-name arena \
	--query 'ContainerFleet.[Status,GameServerContainerGroupsPerInstance,InstanceConnectionPortRange.FromPort]' | tr '\t' ' ')" "ACTIVATING 2 4192"
check "it is deployed with careful defaults" "$(gl describe-fleet-deployment --fleet-id "$fleet" \
	--query 'FleetDeployment.[DeploymentStatus,DeploymentConfiguration.ProtectionStrategy,DeploymentConfiguration.ImpairmentStrategy,GameServerBinaryArn]' | begun)" \
	"BEGUN WITH_PROTECTION ROLLBACK $first"
gl update-container-group-definition --name arena --version-description second >/dev/null
check "a new version is deployed by itself" "$(gl describe-container-fleet --fleet-id "$fleet" \
	--query ContainerFleet.GameServerContainerGroupDefinitionArn)" "${first%1}2"
gl update-container-fleet --fleet-id "$fleet" --game-server-container-group-definition-name "$first" \
	--deployment-configuration ProtectionStrategy=IGNORE_PROTECTION,MinimumHealthyPercentage=30,ImpairmentStrategy=MAINTAIN >/dev/null
gl update-container-group-definition --name arena --version-description third >/dev/null
check "a fleet that names a version keeps it" "$(gl list-container-fleets --container-group-definition-name "$first" \
	--query 'ContainerFleets[].FleetId')" "$fleet"
check "deployments are listed, the newest first" "$(gl list-fleet-deployments --fleet-id "$fleet" \
	--query 'FleetDeployments[].DeploymentConfiguration.MinimumHealthyPercentage' | tr '\t' ' ')" "30 75 75"
check "the former ones are cancelled" "$(gl list-fleet-deployments --fleet-id "$fleet" \
	--query 'FleetDeployments[].DeploymentStatus' | begun)" "BEGUN CANCELLED CANCELLED"
refused "its version is in use" InvalidRequestException gl delete-container-group-definition --name "$first"
refused "it is no fleet of builds" InvalidRequestException gl delete-fleet --fleet-id "$fleet"
refused "too much for its instances" InvalidRequestException gl update-container-fleet --fleet-id "$fleet" \
	--game-server-container-groups-per-instance 3
ports() { gl describe-container-group-port-mappings --fleet-id "$fleet" "$@"; }
refused "ports of an instance that is not there" NotFoundException ports --container-group-type PER_INSTANCE --instance-id i-00000000000000000
refused "ports of a compute that is not there" NotFoundException ports --container-group-type GAME_SERVER --compute-name i-00000000000000000/0
refused "ports of nothing" InvalidRequestException ports --container-group-type GAME_SERVER
read -r starting status < <(create --game-server-container-group-definition-name arena)
refused "one that is being created" NotReadyException gl update-container-fleet --fleet-id "$starting"
for id in "$starting" "$fleet"; do
	gl delete-container-fleet --fleet-id "$id"
	while gl describe-container-fleet --fleet-id "$id" >/dev/null 2>&1; do :; done
	refused "it is deleted" NotFoundException gl delete-container-fleet --fleet-id "$id"
done
refused "its deployments are gone" NotFoundException gl list-fleet-deployments --fleet-id "$fleet"
gl delete-container-group-definition --name arena
exit "$failed"
