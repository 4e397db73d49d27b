// Package fleetiq keeps game server groups, and the game servers that register in them and
// are claimed (Amazon GameLift's FleetIQ operations).
//
// Muster neither starts nor ends what runs in a group. The instances of a group are hosts
// that have joined; a game server registers with the instance id of its host, reports that
// it is healthy, and is claimed for a game. A claim ends after ClaimTime unless the game
// server becomes UTILIZED; a game server that reports nothing for HealthTime is
// deregistered. Both times are read from the rows, so nothing is lost with a restart.
package fleetiq
