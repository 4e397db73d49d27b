// Package typescript runs what the TypeScript library does beyond the stories against the
// built server: receipts of beacons, and the page of the demo game.
package typescript
