#!/bin/sh
# Prepares the other system, and becomes systemd. The variables come from the kernel's command
# line. The system has this machine's files, on which changes lie in memory.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
insmod "/usr/lib/uml/modules/$(uname -r)/kernel/fs/overlayfs/overlay.ko" || exit
umount /proc
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/changes /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/changes,workdir=/mnt/work overlay /mnt/root || exit
cd /mnt/root || exit
# Of this machine's own services none is started, and nothing of Muster is installed.
rm -rf .dockerenv etc/fstab etc/muster var/lib/muster var/lib/muster-agent var/log/journal usr/bin/muster etc/systemd/system/*.wants
# What is to be installed; systemd mounts an empty /tmp.
mkdir -p opt/install
cp "$CHECK" "$MUSTER" "$BUILD" opt/install
cp -r "$DEPLOY" opt/install/deploy
[ -z "$DEB" ] || cp "$DEB" opt/install/muster.deb
for unit in systemd-udevd systemd-udev-trigger systemd-timesyncd systemd-journal-flush systemd-modules-load; do
	ln -sf /dev/null "etc/systemd/system/$unit.service"
done
cat >etc/systemd/system/check.service <<UNIT
[Unit]
OnSuccess=poweroff.target
OnFailure=poweroff.target
[Service]
Type=oneshot
TimeoutStartSec=600
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
Environment=HOME=/root
ExecStart=/bin/bash /opt/install/check.sh
[Install]
WantedBy=basic.target
UNIT
mkdir -p etc/systemd/system/basic.target.wants
ln -s ../check.service etc/systemd/system/basic.target.wants/
echo "install: began"
exec switch_root . /lib/systemd/systemd systemd.unit=basic.target systemd.show_status=0 systemd.log_level=warning
