// Package large forms matches of more than 40 players (developer guide, large matches).
// It divides the waiting tickets by the strings that must be equal, then by location. In
// each batch it gathers a match around the oldest ticket from those nearest in the
// balanced attribute, and seats it so that teams become even.
//
// Pass is the definition; a Search does the same within a budget of steps, pass by pass.
package large
