#!/bin/bash
# Becomes a new machine: enter.sh ROOT DIST TOP TYPED WAY, in namespaces of its own. The machine has
# the files of ROOT, on which changes lie in memory, and of this one DIST, with a release, TOP,
# the sources, and TYPED, with commands; it has no network but its own loopback.
set -euo pipefail
root="$1" dist="$2" top="$3" typed="$4" way="$5"
mount -t tmpfs -o size=2G tmpfs /mnt
mkdir /mnt/changes /mnt/work /mnt/machine
mount -t overlay -o "lowerdir=$root,upperdir=/mnt/changes,workdir=/mnt/work" overlay /mnt/machine
cd /mnt/machine
mkdir -p dist game deploy typed
mount --bind -o ro "$dist" dist
mount --bind -o ro "$top/examples/ten-minutes/python" game
mount --bind -o ro "$top/deploy" deploy
mount --bind -o ro "$typed" typed
mount -t proc proc proc
mount --rbind /dev dev
ip link set lo up
cp "$top/test/install/clean.sh" clean.sh
exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot . bash /clean.sh "$way"
