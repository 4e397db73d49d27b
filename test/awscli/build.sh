#!/usr/bin/env bash
# A build by the AWS CLI's own upload-build, small and in parts; scripts; files of
# one's own. upload-build gives its S3 client no --endpoint-url, so the endpoint
# stands in the environment, as docs/builds.md tells.
set -uo pipefail
cd "$(dirname "$0")" && . ./checks.sh
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
s3() { aws s3 --endpoint-url "$ENDPOINT" "$@"; }

# upload DIRECTORY OPTION…: gives the id of the build.
upload() {
	local dir="$1"
	shift
	AWS_ENDPOINT_URL="$ENDPOINT" aws gamelift upload-build --build-root "$dir" --name arena --build-version 1.0 \
		--operating-system AMAZON_LINUX_2023 "$@" | sed -n 's/^Build ID: //p'
}
status() { gl describe-build --build-id "$1" --query Build.Status; }
# settled ID: waits until the build is no longer INITIALIZED, and gives its status.
settled() {
	for _ in $(seq 40); do
		[ "$(status "$1")" = INITIALIZED ] || break
	done
	status "$1"
}

mkdir -p "$work/small/bin" "$work/large"
cp "$GAMESERVER" "$work/small/bin/server"
printf '#!/bin/sh\n' >"$work/small/install.sh"
id=$(upload "$work/small" --server-sdk-version 5.4.0 --tags team=arena stage=test)
check "upload-build sends a build, and it becomes READY by itself" "$(settled "$id")" READY
check "its version of the server SDK is known" "$(gl describe-build --build-id "$id" --query Build.ServerSdkVersion)" 5.4.0
arn=$(gl describe-build --build-id "$id" --query Build.BuildArn)
check "its tags are there" \
	"$(gl list-tags-for-resource --resource-arn "$arn" --query 'Tags[].[Key,Value]' | tr '\t\n' '= ')" "stage=test team=arena "
size=$(gl describe-build --build-id "$id" --query Build.SizeOnDisk)
check "its size is shown" "$([ "$size" -gt 1000 ] && echo yes)" yes
refused "no credentials are given for a build that has its files" InvalidRequestException \
	gl request-upload-credentials --build-id "$id"

head -c 20000000 /dev/urandom >"$work/large/data"
large=$(upload "$work/large")
check "a build of several parts becomes READY" "$(settled "$large")" READY
check "its size is that of all its parts" "$([ "$(gl describe-build --build-id "$large" --query Build.SizeOnDisk)" -gt 20000000 ] && echo yes)" yes
check "READY builds are listed" "$(gl list-builds --status READY --query 'length(Builds)')" 2
gl update-build --build-id "$large" --name other >/dev/null
check "a build's name can change" "$(gl describe-build --build-id "$large" --query Build.Name)" other
gl delete-build --build-id "$large"
refused "a deleted build is gone" NotFoundException gl describe-build --build-id "$large"

(cd "$work/small" && zip -qr "$work/own.zip" .) 2>/dev/null || python3 -m zipfile -c "$work/own.zip" "$work/small/install.sh"
s3 mb s3://games >/dev/null
s3 cp --only-show-errors "$work/own.zip" s3://games/builds/own.zip
check "a file of one's own is listed" "$(s3 ls s3://games/builds/ | awk '{print $4}')" own.zip
s3 cp --only-show-errors s3://games/builds/own.zip "$work/back.zip"
check "and comes back as it went" "$(cmp "$work/own.zip" "$work/back.zip" && echo same)" same
own=$(gl create-build --name own --operating-system AMAZON_LINUX_2023 --query Build.BuildId \
	--storage-location Bucket=games,Key=builds/own.zip,RoleArn=arn:aws:iam::000000000000:role/any)
check "it can be a build" "$(settled "$own")" READY
refused "a file that is not there cannot" InvalidRequestException gl create-build --operating-system AMAZON_LINUX_2023 \
	--storage-location Bucket=games,Key=none,RoleArn=arn:aws:iam::000000000000:role/any

printf 'no zip' >"$work/bad.zip"
s3 cp --only-show-errors "$work/bad.zip" s3://games/bad.zip
bad=$(gl create-build --name bad --operating-system AMAZON_LINUX_2023 --query Build.BuildId \
	--storage-location Bucket=games,Key=bad.zip,RoleArn=arn:aws:iam::000000000000:role/any)
check "what is no archive FAILS" "$(settled "$bad")" FAILED

script=$(gl create-script --name lobby --zip-file "fileb://$work/own.zip" --query Script.ScriptId)
check "a script is made of a zip file" "$(gl describe-script --script-id "$script" --query Script.NodeJsVersion)" 10.x
gl update-script --script-id "$script" --script-version 2 --zip-file "fileb://$work/own.zip" >/dev/null
check "and changed" "$(gl list-scripts --query 'Scripts[0].Version')" 2
gl delete-script --script-id "$script"
check "and deleted" "$(gl list-scripts --query 'length(Scripts)')" 0

s3 rm --only-show-errors s3://games/builds/own.zip
s3 rm --only-show-errors s3://games/bad.zip
s3 rb s3://games >/dev/null
check "an empty bucket can go" "$(s3 ls | wc -l | tr -d ' ')" 0
exit "$failed"
