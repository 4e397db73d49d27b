// Package scenario tells timelines of the built binary: it is killed with SIGKILL
// at random instants under load, started again, and held to everything that it
// had acknowledged before. Load comes through AWS's Go SDK; game servers speak
// the Server SDK 5 protocol and come back by themselves, as AWS's SDKs do.
//
// Hosts are network namespaces with an agent each: they are killed, cut off and
// filled up while games are played on them.
package scenario
