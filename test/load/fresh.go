package main

import (
	"context"
	"os"

	"github.com/musterhq/muster/test/node"
)

// fresh is a server without a demo, with its own data that is removed with it.
type fresh struct {
	*node.Process
	bin, dir string
	args     []string
}

// runFresh starts a fresh server that listens at an address.
func runFresh(bin, listen, logLevel string) (*fresh, error) {
	dir, err := os.MkdirTemp("", "muster-load-")
	if err != nil {
		return nil, err
	}
	f := &fresh{bin: bin, dir: dir, args: []string{"local", "--demo=false", "--listen", listen, "--data", dir, "--log-level", logLevel}}
	if f.Process, err = node.Run(bin, f.args...); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return f, nil
}

// again restarts the server with the same data.
func (f *fresh) again() error {
	p, err := node.Run(f.bin, f.args...)
	if err == nil {
		f.Process = p
	}
	return err
}

// drop kills the server and removes its data.
func (f *fresh) drop() {
	f.Kill()
	os.RemoveAll(f.dir)
}

// place creates the fleet that receives the load.
func (f *fresh) place(ctx context.Context) (*node.Place, error) {
	return node.MakePlace(ctx, node.Client(f.URL))
}
