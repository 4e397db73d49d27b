// Package life is the life of matchmaking tickets and their matches: how proposals,
// answers, timeouts, placements and withdrawals change them. It has no clock, no store
// and no network. A Change reads tickets and matches, at one time, and calls its Effects
// in the order in which they must be carried out. It modifies only tickets that
// Effects.Edit returned, and never after they were written.
//
// Package flexmatch carries changes out as rows, events and placements. Package sim and
// package cases play them in virtual time.
package life
