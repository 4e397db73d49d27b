#!/bin/sh
# The first process of the other system. TESTS is a folder of test programs, and
# RUN_name says which tests of each; they come from the kernel's command line.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
echo "usermode: began"
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /mnt
cp "$TESTS"/* /mnt
mount -t tmpfs -o mode=755 tmpfs /run
for dir in /tmp /var/tmp /dev/shm; do mkdir -p "$dir" && mount -t tmpfs -o mode=1777 tmpfs "$dir"; done
ip link set lo up
cd /mnt
for test in isolate agent; do
	eval "\"./$test.test\" -test.v -test.run \"\$RUN_$test\""
	echo "usermode: $test ended with $?"
done
echo o >/proc/sysrq-trigger
sleep 60
