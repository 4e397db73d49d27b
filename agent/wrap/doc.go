// Package wrap hosts a game server that uses no SDK: it plays the SDK's part towards
// Muster, and starts the program when a game session is assigned. The program may take over
// by the HTTP interface that the wrapper serves (package gameapi). With Options.HTTP it must:
// then it is started at once.
//
// With Options.Legacy it serves the ports of Server SDK 3 and 4 to the program (package
// legacy): for programs that no agent starts, and containers with a network of their own.
//
//	connect ─▶ ProcessReady ─▶ CreateGameSession ─▶ start the program ─▶ it lives for a second ─▶ ActivateGameSession
//	the program exits, or TerminateProcess and its end ─▶ ProcessEnding ─▶ exit
//	the program crashes ─▶ exit with its code, which the agent reports
//
// A wrapper is a game server process like any other: it is launched by an agent with
// the GAMELIFT_SDK_ variables, hosts one game session, and is healthy while its
// program lives. The program decides who plays: nobody accepts player sessions, so
// Muster, which recognizes the wrapper by its tool name, counts them as ACTIVE from
// their reservation until the game session ends.
package wrap
