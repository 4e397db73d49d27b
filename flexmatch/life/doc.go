// Package life is the life of matchmaking tickets and their matches: what proposals,
// answers, timeouts, placements and withdrawals make of them. It has no clock, no store
// and no network. A Change reads tickets and matches, at one time, and returns Steps in
// the order in which they must be carried out; tickets and matches are never modified in
// place, and a step has them as they become.
//
// Package flexmatch carries steps out as rows, events and placements. Package sim and
// package cases play them in virtual time.
package life
