package charttest

import (
	"io"
	"net"
	"testing"
)

// accept calls serve with each connection to a port of this machine, in its own goroutine, and
// closes the connection afterwards. It accepts until the test ends, and returns the address.
func accept(t testing.TB, serve func(down net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			down, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer down.Close()
				serve(down)
			}()
		}
	}()
	return listener.Addr().String()
}

// forward connects to an address, and copies what comes from there and, until that ends, what in
// has. It returns an error if nothing accepts the connection.
func forward(network, address string, in io.Reader, out io.Writer) error {
	up, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer up.Close()
	copyBoth(up, in, out)
	return nil
}

// copyBoth copies what in has to a connection, and what comes from there to out, until that ends.
func copyBoth(up net.Conn, in io.Reader, out io.Writer) {
	go func() {
		io.Copy(up, in)
		up.(interface{ CloseWrite() error }).CloseWrite()
	}()
	io.Copy(out, up)
}
