// Package registry asks registries of container images which content an image's name
// stands for (the OCI distribution API).
//
// Names come from operators, and answers from anybody: nothing is sent to link-local
// addresses, redirects are not followed, answers are bounded, and of an answer only its
// status and its codes are repeated. Credentials are sent only to the registry that they
// are for, and to the token server that it names, over TLS.
package registry
