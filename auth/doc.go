// Package auth knows who may do what: access keys and roles of operators, and
// the tokens with which computes speak for their game server processes.
//
// A SigV4 signature can only be checked with the secret itself, so secrets are
// stored sealed (AES-256-GCM under the deployment's master key), never in the
// clear and never in a recording. Compute tokens are not stored at all: they
// are a MAC over what they grant, so that any node can check them.
package auth
