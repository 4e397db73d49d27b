// Package typescript runs the sample of the TypeScript library against the built server.
package typescript
