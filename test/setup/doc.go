// Package setup tests set-ups as files: they are applied to servers through AWS's client,
// written again, moved from one server to another, and deployed under load.
package setup
