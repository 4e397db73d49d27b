#!/usr/bin/env bash
# A container group definition from the command line: versions are made, read and deleted.
set -uo pipefail
cd "$(dirname "$0")" && . ./checks.sh

digest=sha256:$(printf 'a%.0s' {1..64})
name=(--name arena)
limits=(--operating-system AMAZON_LINUX_2023 --total-memory-limit-mebibytes 1024 --total-vcpu-limit 1)

game() { # an image, and more members
	echo "{\"ContainerName\": \"game\", \"ImageUri\": \"$1\", \"ServerSdkVersion\": \"5.4.0\",
		\"PortConfiguration\": {\"ContainerPortRanges\": [{\"FromPort\": 7000, \"ToPort\": 7000, \"Protocol\": \"UDP\"}]}${2:+, $2}}"
}

create() {
	gl create-container-group-definition --name "$1" "${limits[@]}" --game-server-container-definition "$2" \
		--query 'ContainerGroupDefinition.[VersionNumber,Status]' | tr '\t' ' '
}

refused "nothing has the name" NotFoundException gl describe-container-group-definition "${name[@]}"
check "an image with a digest is READY at once" "$(create arena "$(game "registry.example/arena@$digest")")" "1 READY"
refused "its name is taken" ConflictException create arena "$(game "registry.example/arena@$digest")"
refused "a container that waits for itself" InvalidRequestException create ring \
	"$(game "registry.example/arena@$digest" '"DependsOn": [{"ContainerName": "game", "Condition": "START"}]')"
check "an update is another version" "$(gl update-container-group-definition "${name[@]}" --total-vcpu-limit 2 \
	--query 'ContainerGroupDefinition.[VersionNumber,TotalVcpuLimit==`2`]' | tr '\t' ' ')" "2 True"
check "versions are listed, the newest first" "$(gl list-container-group-definition-versions "${name[@]}" \
	--query 'ContainerGroupDefinitions[].VersionNumber' | tr '\t' ' ')" "2 1"
arn=$(gl describe-container-group-definition "${name[@]}" --version-number 1 --query ContainerGroupDefinition.ContainerGroupDefinitionArn)
check "an ARN names a version" "$(gl describe-container-group-definition --name "$arn" --query ContainerGroupDefinition.VersionNumber)" 1
check "the newest of each is listed" "$(gl list-container-group-definitions --container-group-type GAME_SERVER \
	--query 'ContainerGroupDefinitions[].[Name,VersionNumber]' | tr '\t' ' ')" "arena 2"
gl delete-container-group-definition "${name[@]}" --version-count-to-retain 1
refused "older versions are deleted" NotFoundException gl describe-container-group-definition "${name[@]}" --version-number 1
gl delete-container-group-definition "${name[@]}"
refused "all are deleted" NotFoundException gl describe-container-group-definition "${name[@]}"
exit "$failed"
