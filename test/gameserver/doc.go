// Package gameserver is a game server process for tests: it speaks the Server
// SDK 5 protocol over a plain WebSocket and keeps the rules of AWS's Go SDK for
// connections. It activates each game session that it is given, ends when it is
// told to, and when its socket breaks it connects again with the same URL and
// says nothing about what it was doing. It remembers every game session that it
// was given, so that tests can ask whether one process ever got two.
package gameserver
