#!/bin/sh
# Installs Muster's programs for this system:
#
#   curl -fsSL https://github.com/musterhq/muster/releases/latest/download/install.sh | sh
#
# It downloads a release's archive, compares its SHA-256 with the release's list, and puts
# muster and arena, the demo game, into a folder. Nothing else on the system is changed.
#
#   MUSTER_RELEASE      folder of the release: a URL (the latest release's)
#   MUSTER_INSTALL_DIR  folder for the programs (/usr/local/bin if you may write there, else
#                       ~/.local/bin)
set -eu

fail() {
	echo "install: $*" >&2
	exit 1
}

fetch() { # fetch URL FILE
	if command -v curl >/dev/null; then
		curl -fsSL --retry 3 -o "$2" "$1" || fail "$1 cannot be downloaded"
	elif command -v wget >/dev/null; then
		wget -q -O "$2" "$1" || fail "$1 cannot be downloaded"
	else
		fail "neither curl nor wget is installed"
	fi
}

sha256() { # sha256 FILE
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	elif command -v shasum >/dev/null; then
		shasum -a 256 "$1"
	else
		fail "neither sha256sum nor shasum is installed, so nothing can be checked"
	fi | cut -d ' ' -f 1
}

# All is in a function, so that nothing runs if the script arrives in part.
main() {
	release="${MUSTER_RELEASE:-https://github.com/musterhq/muster/releases/latest/download}"
	case "$(uname -s)" in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	*) fail "there are no programs for $(uname -s) that this script can install; see docs/install.md" ;;
	esac
	case "$(uname -m)" in
	x86_64 | amd64) processor=amd64 ;;
	aarch64 | arm64) processor=arm64 ;;
	*) fail "there are no programs for processors of the kind $(uname -m)" ;;
	esac
	dir="${MUSTER_INSTALL_DIR:-}"
	if [ -z "$dir" ]; then
		if [ -w /usr/local/bin ]; then dir=/usr/local/bin; else dir="$HOME/.local/bin"; fi
	fi
	mkdir -p "$dir" || fail "$dir cannot be created; set MUSTER_INSTALL_DIR"

	work="$(mktemp -d)"
	trap 'rm -rf "$work"' EXIT
	fetch "$release/checksums.txt" "$work/checksums.txt"
	line="$(grep "  muster_[^ ]*_${system}_$processor\.tar\.gz\$" "$work/checksums.txt")" || fail "the release has no archive for $system/$processor"
	[ "$(echo "$line" | wc -l)" -eq 1 ] || fail "the release has several archives for $system/$processor"
	sum="${line%% *}" archive="${line##* }"
	fetch "$release/$archive" "$work/archive"
	got="$(sha256 "$work/archive")"
	[ "$got" = "$sum" ] || fail "$archive is not what the release lists: its SHA-256 is $got, not $sum; nothing was installed"
	mkdir "$work/programs"
	tar -xzf "$work/archive" -C "$work/programs" muster arena || fail "$archive cannot be unpacked"
	for program in muster arena; do
		chmod 755 "$work/programs/$program"
		# A program that runs cannot be written to, but its name can be given to another file.
		cp "$work/programs/$program" "$dir/.$program.new" && mv -f "$dir/.$program.new" "$dir/$program" || fail "$dir/$program cannot be written"
	done
	"$dir/muster" --version
	echo "Installed muster and arena in $dir."
	case ":$PATH:" in
	*":$dir:"*) echo "Next: muster local" ;;
	*) echo "Next: add $dir to PATH, then: muster local" ;;
	esac
}

main
