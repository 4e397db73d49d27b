// Package auth decides who may do what: access keys, roles and scopes of operators, and
// the tokens with which computes authenticate their game server processes.
//
// A SigV4 signature can only be checked with the secret itself, so secrets are stored
// encrypted (AES-256-GCM with a key derived from the deployment's master key), and
// never in clear text or in a recording. Compute tokens are not stored: they are a MAC
// over what they grant, so any node can check them.
package auth
