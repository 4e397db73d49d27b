#!/usr/bin/env bash
# Makes the virtual machine of a node in a folder: kernel, initial RAM disk and the disk,
# with Debian's packages and nothing of Kubernetes (usage: machine.sh FOLDER PACKAGE,…).
set -euo pipefail
folder="$1" packages="$2"
for program in mmdebstrap mke2fs; do
	command -v "$program" >/dev/null || { echo "$program is missing (Debian packages mmdebstrap and e2fsprogs): there is no machine for a node"; exit; }
done
[ "$(id -u)" = 0 ] || { echo "only root makes the machine of a node"; exit; }
mkdir -p "$folder"
root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
echo "making the machine of a node"
mmdebstrap --quiet --variant=minbase --include="$packages" --components=main \
	--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
	bookworm "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
# The first program leaves everything to the second disk.
printf '#!/bin/sh\nmkdir -p /node\nmount -o ro /dev/vdb /node\nexec /node/init\n' >"$root/sbin/init"
chmod 755 "$root/sbin/init"
cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
cp "$root"/boot/initrd.img-* "$folder/initrd"
rm -f "$folder/disk"
mke2fs -q -t ext4 -d "$root" "$folder/disk.new" 3G
mv "$folder/disk.new" "$folder/disk"
