// Package archtest holds the tests that keep the shape of the code: who may
// import whom and why, one comment on each package, names that say something,
// and documents that equal what they describe. It has no code of its own.
package archtest
