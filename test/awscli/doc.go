// Package awscli tells the central story with the AWS CLI, as a shell script,
// against the built binary; it speaks AWS JSON 1.1.
package awscli
