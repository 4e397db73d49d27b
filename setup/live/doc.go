// Package live reads the set-up of a server and changes it to what a file describes, through
// the operations of the Amazon GameLift API that everybody has, with AWS's client. What is to
// be done is in package setup.
package live
