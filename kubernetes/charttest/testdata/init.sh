#!/bin/bash
# The first process of the node. It starts the programs of a node that are in /node/bin,
# starts again what ends, and runs the commands that the test sends over the second serial
# port. The initial RAM disk has mounted /proc, /sys, /dev and /run.
export PATH=/node/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
mount -o remount,rw /
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mountpoint -q /dev/pts || { mkdir -p /dev/pts; mount -t devpts devpts /dev/pts; }
mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount --make-rshared /
for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control; done
modprobe -a overlay br_netfilter veth nf_conntrack
for setting in net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables net.ipv4.conf.all.route_localnet; do echo 1 >"/proc/sys/${setting//.//}"; done
hostname node-1
cat /proc/sys/kernel/random/uuid | tr -d - >/etc/machine-id
echo '127.0.0.1 localhost node-1' >/etc/hosts
echo 'nameserver 10.0.2.3' >/etc/resolv.conf
ip link set lo up
device="$(ls /sys/class/net | grep -v '^lo$' | head -1)"
ip link set "$device" up
ip addr add 10.0.2.15/24 dev "$device"
ip route add default via 10.0.2.2

# run starts a program, again and again, with its output in /var/log.
run() {
	while :; do
		"$@" >>"/var/log/${1##*/}.log" 2>&1
		echo "== $1 ended with $?" >>"/var/log/${1##*/}.log"
		sleep 1
	done &
}
mkdir -p /var/log /etc/containerd /etc/cni/net.d
run containerd --config /node/containerd.toml
run kube-proxy --kubeconfig=/node/proxy.json --proxy-mode=nftables --hostname-override=node-1 --cluster-cidr=10.88.0.0/16
run kubelet --config=/node/kubelet.json --kubeconfig=/node/node.json --hostname-override=node-1 --node-ip=10.0.2.15

stty -F /dev/ttyS1 raw -echo
echo ready >/dev/ttyS1
cat >/run/commands <<'END'
# pids prints the processes with a name.
pids() {
	for p in /proc/[0-9]*; do
		if read -r name <"$p/comm" && [ "$name" = "$1" ]; then echo "${p#/proc/}"; fi
	done 2>/dev/null
}
END
while :; do BASH_ENV=/run/commands setsid bash /dev/ttyS1 >/dev/ttyS1 2>&1; done
