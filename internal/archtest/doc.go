// Package archtest contains tests of the code's structure: which package may import
// which and why, one comment per package, meaningful names, and documents that match
// what they describe. It has no code of its own.
package archtest
