#!/bin/bash
# Installs Muster on this system, runs a server and an agent by their units, and plays with
# them. It prints a line for each check: `ok - WHAT` or `not ok - WHAT`.
set -u
cd /opt/install || exit
export MUSTER_CREDENTIALS=/var/lib/muster/admin-credentials
at=http://127.0.0.1:9080

ok() { # ok WHAT COMMAND…
	local what="$1" out
	shift
	if out="$("$@" 2>&1)"; then echo "ok - $what"; else failed "$what" "$out"; fi
}
failed() { # failed WHAT OUTPUT
	echo "not ok - $1"
	echo "$2"
	journalctl --no-pager -n 60 -u muster -u muster-agent
	exit 1
}
until_ok() { # until_ok WHAT COMMAND…: within four minutes
	local what="$1" end=$((SECONDS + 240))
	shift
	until "$@" >/tmp/out 2>&1; do
		[ $SECONDS -le $end ] || failed "$what" "$(cat /tmp/out)"
		sleep 0.3
	done
	echo "ok - $what"
}
ready() { curl -fsS "$at/readyz"; }
gamelift() { # gamelift OPERATION JSON: curl signs, since Python takes a minute to start here
	curl -sS --fail-with-body --aws-sigv4 aws:amz:us-east-1:gamelift --user "$key:$secret" -H "X-Amz-Target: GameLift.$1" \
		-H 'Content-Type: application/x-amz-json-1.1' -d "$2" "$at/"
}
member() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p"; } # member NAME: of an answer
upload() { # upload FILE: as a build, whose id is then in $build
	local answer
	answer="$(gamelift CreateBuild '{"Name": "arena", "OperatingSystem": "AMAZON_LINUX_2023"}')" || return
	build="$(member BuildId <<<"$answer")"
	curl -sS --fail-with-body --aws-sigv4 aws:amz:us-east-1:s3 --user "$(member AccessKeyId <<<"$answer"):$(member SecretAccessKey <<<"$answer")" \
		-H "X-Amz-Security-Token: $(member SessionToken <<<"$answer")" -H "X-Amz-Content-Sha256: $(sha256sum "$1" | cut -d ' ' -f 1)" \
		-T "$1" "$at/$(member Bucket <<<"$answer")/$(member Key <<<"$answer")"
}
connected() { muster hosts -o json | grep -q '"Connected": *true'; }
# The game server runs where systemd's group of the agent does not reach.
game() { pgrep -f 'server -port' | sort; }
# running reports whether the game server has one ACTIVE process and no game session yet.
running() { muster fleets -o json | grep -q '"active_server_processes": *1' && game; }

ip link set lo up
if [ -e muster.deb ]; then
	ok "the package installs" dpkg -i muster.deb
else
	install -D -t /usr/bin muster
	install -D -m 644 -t /usr/lib/systemd/system deploy/systemd/*.service
	install -D -m 644 deploy/debian/sysusers.conf /usr/lib/sysusers.d/muster.conf
	install -D -m 640 -t /etc/muster deploy/debian/server.yaml deploy/debian/agent.env
	ok "the script after installation runs as RPM calls it" deploy/debian/postinst 1
	ok "the server's user may read its settings" test "$(stat -c %G /etc/muster/server.yaml)" = muster
	ok "the script after installation runs" deploy/debian/postinst configure
fi
ok "nothing is started by the installation" test "$(systemctl is-enabled muster muster-agent | sort -u)" = disabled

ok "the server's unit starts" systemctl enable --now muster
until_ok "the server is ready" ready
ok "its state is its user's alone" test "$(stat -c '%U %a' /var/lib/muster)" = "muster 700"
ok "its key is good" muster admin keys list
key="$(sed -n 's/^aws_access_key_id *= *//p' $MUSTER_CREDENTIALS)" secret="$(sed -n 's/^aws_secret_access_key *= *//p' $MUSTER_CREDENTIALS)"

ok "a location is created" gamelift CreateLocation '{"LocationName": "custom-here"}'
muster admin join-tokens create --location custom-here | sed -n 's/.*MUSTER_TOKEN=\([^ ]*\).*/\1/p' >/etc/muster/join-token
chmod 600 /etc/muster/join-token
# This system has less than the instance is promised; the demo game does not use it.
printf 'MUSTER_ENDPOINT=%s\nMUSTER_TOKEN_FILE=/etc/muster/join-token\nMUSTER_CPU=2\nMUSTER_MEMORY=4096\n' "$at" >>/etc/muster/agent.env
ok "the agent's unit starts" systemctl enable --now muster-agent
until_ok "the agent has joined" connected
host="$(muster hosts -o json | sed -n 's/.*"HostID": *"\([^"]*\)".*/\1/p' | head -1)"
muster hosts show "$host" -o json >/tmp/host
for what in limits users processes "system calls" egress; do
	ok "game servers are isolated by $what" grep "\"Isolation\":.*$what" /tmp/host
done

upload build.zip >/tmp/out 2>&1 || failed "a build is uploaded" "$(cat /tmp/out)"
echo "ok - a build is uploaded"
ok "a fleet is created" gamelift CreateFleet '{"Name": "here", "BuildId": "'"$build"'", "ComputeType": "EC2", "EC2InstanceType": "c5.large",
	"Locations": [{"Location": "custom-here"}], "RuntimeConfiguration": {"ServerProcesses": [
	{"LaunchPath": "/local/game/server", "Parameters": "server -port {{.GamePort}} -wait 30m", "ConcurrentExecutions": 1}]}}'
until_ok "its game server runs" running
before="$(game)"

ok "the server restarts" systemctl restart muster
ok "the agent restarts" systemctl restart muster-agent
until_ok "the server is ready again" ready
until_ok "the agent is connected again" connected
ok "both units reload" systemctl reload muster muster-agent
pid="$(systemctl show -p MainPID --value muster)"
kill -9 "$pid"
restarted() { [ "$(systemctl show -p MainPID --value muster)" != "$pid" ] && ready; }
until_ok "systemd starts a killed server again" restarted
until_ok "the agent is connected still" connected
ok "the game server did not notice" test "$before" = "$(game)"
until_ok "it is known as before" running

if [ -e muster.deb ]; then
	ok "the package is removed" dpkg -r muster
	ok "units and program are gone" test ! -e /usr/bin/muster -a ! -e /usr/lib/systemd/system/muster.service -a -z "$(pgrep -x muster)"
	ok "state and settings stay" test -d /var/lib/muster -a -e /etc/muster/server.yaml
	ok "the package installs again" dpkg -i muster.deb
	ok "and is purged" dpkg -P muster
	ok "state stays, settings do not" test -d /var/lib/muster -a ! -e /etc/muster/server.yaml
fi
echo "install: ended"
