// Package link connects a host to Muster for its agent (hosts/protocol): it joins with a
// token, keeps the credential, and keeps one WebSocket open. Messages that arrive go to
// the Host; the Host's status and reports go to Muster. What runs on the host needs no
// link: it is closed and opened again without loss.
//
// Package agent uses it for machines, and muster-kubernetes for clusters.
package link
