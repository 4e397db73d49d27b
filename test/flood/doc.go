// Package flood has strangers ask more of a server than it should give them, over
// real connections to the built binary.
package flood
