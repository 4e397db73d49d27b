// Package gamequery asks a game server program how many players it has, in the protocols of
// server browsers, and sends it commands by Source RCON. It is for programs without an SDK,
// which package wrap hosts.
//
//	a2s       Source and GoldSource engines (A2S_INFO, with its challenge), and many others
//	quake3    getinfo, or getstatus: Quake III and its descendants, Xonotic, Warsow
//	gamespy   GameSpy 1 (\status\): Unreal engines 1 and 2, and games of their time
//	gamespy3  GameSpy 3 and 4, with their challenge: Unreal Tournament 3, Minecraft
//
// What a game server answers is not trusted: a datagram is read up to maxDatagram, at most
// maxDatagrams are read for a question, and numbers outside of their range are refused.
package gamequery
