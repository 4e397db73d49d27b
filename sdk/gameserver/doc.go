// Package gameserver runs a game server process for Amazon GameLift and compatible
// services. It wraps the official Go Server SDK 5 and adds what that leaves to each
// game: contexts, a life cycle with an orderly end, serialized callbacks, the
// connected players, the latest backfill ticket, and an in-memory service for tests
// (package fakesdk).
//
//	s, err := gameserver.New(gameserver.Options{Port: 7777, EndWhenEmpty: true, Signals: true}, game)
//	err = s.Run(ctx) // until the game session is over
//
// A process hosts one game session in its lifetime:
//
//	New → Initialised → Ready → Activating → Active → Ending → Ended
//
// Problems of the official SDK that it hides:
//
//   - A failed InitSDK leaves the SDK partly initialized: it is always destroyed,
//     and ProcessReady is called only after a success.
//   - The default logger creates a folder in the working directory and ends the
//     process if it cannot: log/slog is used instead.
//   - Without a terminate callback the SDK exits the process: one is always set.
//   - Calls block for up to three minutes and take no context: here they return when
//     the context ends, and a later result is cleaned up.
//   - A slow health check leaks its goroutine: here it is answered in time.
//   - Callbacks come from many goroutines: handlers are called one at a time.
//   - The SDK can be initialized once per process: a second Run returns ErrUsed.
package gameserver
