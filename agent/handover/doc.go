// Package handover passes the sockets of an agent's interfaces for game servers to the agent
// that replaces it in the same process: the sockets that listen, and the connections on which
// no request is under way. The system keeps them open until then, and what arrives waits in
// them. So no game server is refused, and none that speaks HTTP loses its connection.
//
//	agent ──Pass──▶ its listeners drain ──Environ, exec──▶ next agent ──Take──▶ Listen returns the same sockets
package handover
