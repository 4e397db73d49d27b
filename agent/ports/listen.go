package ports

import (
	"context"
	"net"
)

// Listen listens at a TCP address of this machine, which need not have it yet: Podman makes
// the bridge of its containers with the first of them.
func Listen(address string) (net.Listener, error) {
	config := net.ListenConfig{Control: control}
	return config.Listen(context.Background(), "tcp", address)
}
