// Package limit bounds, in bounded memory, how often a key, an address or the like may
// do something, and how often the log reports refusals.
package limit
