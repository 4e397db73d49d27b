#!/bin/bash
# Installs Muster on a new machine in one way, as docs/install.md says, starts it with a game
# server in Python, and has two players play: clean.sh WAY. The last line has the times.
set -euo pipefail
way="$1"
now() { date +%s%3N; }
as_user() { runuser -u player -- env HOME=/srv/player PATH="/srv/player/.local/bin:$PATH" "$@"; }
useradd --create-home --home-dir /srv/player player
cd /srv/player

begin="$(now)"
case "$way" in
archive) # of the release, unpacked into the user's folder
	as_user tar -xzf /dist/muster_*_linux_"$(dpkg --print-architecture)".tar.gz
	muster=./muster ;;
script) # from a copy of the release's folder
	as_user env MUSTER_RELEASE=file:///dist sh </deploy/install.sh
	muster=/srv/player/.local/bin/muster ;;
package)
	apt-get install --yes /dist/muster_*_"$(dpkg --print-architecture)".deb >/dev/null
	muster=/usr/bin/muster ;;
esac
as_user "$muster" --version
installed="$(now)"

: >log
as_user "$muster" local --log-level warn --exec python3 -- /game/server.py >log 2>&1 &
until grep -q '^ready' log; do
	kill -0 $! || { cat log; exit 1; }
	sleep 0.1 # a line in a file has no event
done
play() { seq 1 100 | as_user python3 /game/player.py >"$1"; }
play first & one=$!
play second & two=$!
wait $one $two || { cat log first second; exit 1; }
played="$(now)"
[ "$(cat first second | grep -c '^you won')" = 1 ] || { cat log first second; exit 1; }
echo "installed after $((installed - begin)) ms, played after $((played - begin)) ms"
