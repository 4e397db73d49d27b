package serversdk

import (
	"bufio"
	"net"
	"net/url"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/internal/door"
)

// direct is a process's own WebSocket.
type direct struct {
	*websocket.Conn
	in *bufio.Reader // its reader
	fd int32         // -1 if it has none
}

// Drop closes the socket without a close frame, which the SDKs of a living process
// take for the end.
func (d direct) Drop() {
	socket := d.NetConn()
	if secured, ok := socket.(interface{ NetConn() net.Conn }); ok {
		socket = secured.NetConn() // a TLS close alert could block
	}
	socket.Close()
}

// relayHosts is the member of a relayed connection's query that says what the process hosts
// (hosts/protocol.RelayHosts). Processes that connect by themselves are not asked.
const relayHosts = "Hosts"

// Relay accepts a connection that a host's agent relays. query is what the process would
// have sent with its upgrade, from the relaying host. It returns when the connection is
// durable, or an error if it is refused; the socket then remains the caller's.
// Errors are faults, as for an upgrade.
func (s *Server) Relay(query url.Values, from string, socket door.Socket) error {
	a, err := parseArrival(query, from)
	if err == nil && query.Has(relayHosts) {
		hosts := query.Get(relayHosts)
		a.hosts = &hosts
	}
	if err == nil {
		err = s.admit(a)
	}
	if err == nil {
		err = s.connect(s.ctx, a, func() (door.Socket, error) { return socket, nil })
		if err != nil {
			s.release(a.ref)
		}
	}
	if err != nil {
		s.noteRefusal(a, err)
		s.warnings.Warn(from, "relayed connection refused", "process", a.ref.Key(), "remote", from, "error", err)
	}
	return err
}
