// Package awscli runs the central story with the AWS CLI, as a shell script, against
// the built binary, in AWS JSON 1.1.
package awscli
