// Package life is the life of matchmaking tickets and their matches: how proposals,
// answers, timeouts, placements and withdrawals change them. It has no clock, no store
// and no network. A Change reads tickets and matches, at one time, and returns Steps in
// the order in which they must be carried out. Tickets and matches are never modified in
// place: a step contains them as they are after it.
//
// Package flexmatch carries steps out as rows, events and placements. Package sim and
// package cases play them in virtual time.
package life
