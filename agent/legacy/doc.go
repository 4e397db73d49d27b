// Package legacy hosts game servers with Server SDK 3.1.5 to 4.0.2: it is what these SDKs
// expect on their own machine.
//
//	5757  socket.io   C++ 3.1.5 to 3.4.2 with the Unreal, Lumberyard and O3DE gems, C# 3, ports to other languages
//	5758  HTTP        requests of C# 4.0
//	5759  WebSocket   pushes to C# 4.0
//
// The ports are fixed in the SDKs, and nothing is authenticated. What a process is, is
// known from who owns the other end of its connection: a process that the agent has
// started, or a descendant of it, or one in the game server's container that the agent has
// had started. So no process can speak for another one. Systems without /proc have only the
// process's word for it.
//
// The ports are on the machine's loopback interface, which containers with its network
// share. Where they have a network of their own, muster wrap serves these ports beside the
// game (Options.Ports of its own Server).
//
// A process that connects (InitSDK) is connected to Muster (package gamelink) as one with
// Server SDK 5, and every call is translated. What Muster must not miss is kept in a file,
// so that the next agent continues: SDKs reconnect by themselves, except C# 4.0, whose
// process is ended once it has no game session.
//
// An unanswered call blocks a C++ game for ever. Every request is answered within answering,
// whatever Muster does.
package legacy
