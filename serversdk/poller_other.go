//go:build !linux

package serversdk

const canPark = false

// poller does nothing on systems other than Linux: each connection keeps its goroutine.
type poller struct{}

func (*poller) watch(int32, *conn) bool { return false }
func (*poller) forget(int32, *conn)     {}
func (*poller) close()                  {}
