// Package cluster makes what Muster desires of a host as the pods of a Kubernetes cluster:
// to Muster the cluster is one large machine that runs container groups only.
//
//	cluster     the agent: watches, queue, link
//	host        what the link connects: Assign, Kill and Collect in, Status out
//	group       one container group: what to do next, and doing it
//	reports     ended runs, until Muster has acknowledged them
//	tokens      the Secrets with what game servers connect with
//	nodes       what the cluster offers, and which nodes are gone
//	keeper      the credential, in a Secret
//
// All state that must outlive the agent is in the cluster. Pods say what they are; the last
// pod of a group, with how it ended, stays until the next one begins and Muster knows its
// end; the credential is in a Secret. Nothing is created or deleted before Muster has sent
// the desired state, so an agent that starts without a link leaves everything as it is.
package cluster
