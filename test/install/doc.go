// Package install tests what is in deploy/: the systemd units and the Debian package in a
// system of its own, where systemd is the first process.
package install
