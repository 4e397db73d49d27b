// Package limit bounds how often keys, addresses and others may do something, in
// bounded memory, and how often the log says that somebody was refused.
package limit
