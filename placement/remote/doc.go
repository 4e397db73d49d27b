// Package remote lets queues place game sessions at other Musters and at AWS, by AWS's own
// client and the public operations alone.
package remote
