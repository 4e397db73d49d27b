#!/bin/bash
# Installs Muster on a new machine in one way, and has two players play the game of
# docs/ten-minutes.md there: clean.sh WAY. /typed has the commands, each in a file, as the
# documents print them. The last line has the times.
set -euo pipefail
way="$1"
now() { date +%s%3N; }
as_user() { runuser -u player -- env HOME=/srv/player PATH="/srv/player/.local/bin:$PATH" "$@"; }
types() { as_user bash -euo pipefail "/typed/$1"; }

# github plays github.com, which has this release as its latest one: with a certificate of an
# authority that the machine knows.
github() {
	local at=/srv/github/musterhq/muster/releases/latest/download
	mkdir -p "$at"
	ln -s /dist/* /deploy/install.sh "$at"
	echo '127.0.0.1 localhost github.com' >/etc/hosts
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=github.com -addext subjectAltName=DNS:github.com \
		-keyout /srv/github.key -out /usr/local/share/ca-certificates/github.crt 2>/dev/null
	update-ca-certificates >/dev/null
	python3 - <<-'SERVER' >/srv/github.log 2>&1 &
		import http.server, os, ssl
		os.chdir("/srv/github")
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 443), http.server.SimpleHTTPRequestHandler)
		tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		tls.load_cert_chain("/usr/local/share/ca-certificates/github.crt", "/srv/github.key")
		server.socket = tls.wrap_socket(server.socket, server_side=True)
		server.serve_forever()
	SERVER
	curl -fsS --retry 100 --retry-delay 1 --retry-connrefused -o /dev/null https://github.com/ || { cat /srv/github.log; exit 1; }
}

useradd --create-home --home-dir /srv/player player
cd /srv/player
[ "$way" != script ] || github

begin="$(now)"
case "$way" in
archive) # of the release, unpacked into the user's folder
	as_user tar -xzf /dist/muster_*_linux_"$(dpkg --print-architecture)".tar.gz
	muster=/srv/player/muster ;;
script)
	types script
	muster=/srv/player/.local/bin/muster ;;
package)
	(cd /dist && bash -euo pipefail /typed/package >/dev/null)
	muster=/usr/bin/muster ;;
esac
as_user "$muster" --version
installed="$(now)"

# As the guide says to those who have no clone.
as_user mkdir -p bin examples/ten-minutes
as_user ln -s "$muster" bin/muster
as_user cp -r /game examples/ten-minutes/python
: >log
types terminal-1 >log 2>&1 &
until grep -q '^ready' log; do
	kill -0 $! || { cat log; exit 1; }
	sleep 0.1 # a line in a file has no event
done
play() { seq 1 100 | types players >"$1"; }
play first & one=$!
play second & two=$!
wait $one $two || { cat log first second; exit 1; }
played="$(now)"
[ "$(cat first second | grep -c '^you won')" = 1 ] || { cat log first second; exit 1; }
types afterwards >after
for word in GAME_SESSION_ACTIVATED PLAYER_SESSION_ACCEPTED; do
	grep -q "$word" after || { cat after; exit 1; }
done
echo "installed after $((installed - begin)) ms, played after $((played - begin)) ms"
