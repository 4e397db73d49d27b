// Package scenario tests the built binary over time: it is killed with SIGKILL at
// random instants under load, restarted, and checked for everything that it had
// acknowledged before. The load uses AWS's Go SDK; game servers use the Server SDK 5
// protocol and reconnect as AWS's SDKs do.
//
// Hosts are network namespaces with an agent each: they are killed, cut off and
// filled up while games are played on them.
package scenario
