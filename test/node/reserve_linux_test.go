package node

import (
	"net"
	"testing"
)

// A server can listen at a reserved address again and again, also with a connection of before,
// and on all addresses of the machine. Nobody who asks for any port gets it, whether to listen
// or to connect, even while no server is there.
func TestReserve(t *testing.T) {
	t.Parallel()
	reserved := Reserve(t)
	if other := Reserve(t); other == reserved {
		t.Fatalf("%s is reserved twice", other)
	}
	_, port, err := net.SplitHostPort(reserved)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{reserved, reserved, "0.0.0.0:" + port} {
		if conn, err := net.Dial("tcp", reserved); err == nil {
			t.Errorf("%s takes connections while no server is there", conn.RemoteAddr())
			conn.Close()
		}
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", reserved)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server.Close() // first, so that this end of the connection stays for a while
		l.Close()
	}

	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	for range 1000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		conn, err := net.Dial("tcp", far.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if l.Addr().String() == reserved || conn.LocalAddr().String() == reserved {
			t.Fatalf("%s is given away", reserved)
		}
	}
}
