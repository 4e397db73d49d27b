package enginetest

import (
	"fmt"
	"os"
	"testing"
)

// Address is an address of this machine, besides those at loopback, in a network of tests.
const Address = "198.51.100.1"

// ownNetworkVariable is set in the environment of a process in a network of its own.
const ownNetworkVariable = "MUSTER_TEST_OWN_NETWORK"

// hasOwnNetwork reports whether the tests have a network of their own.
var hasOwnNetwork bool

// HasOwnNetwork reports whether the tests have a network of their own, with Address.
func HasOwnNetwork() bool { return hasOwnNetwork }

// Main runs the tests of a package and ends the process: in a network of their own, where
// this machine makes one. It has nothing but loopback, and what engines add to it.
func Main(m *testing.M) {
	if os.Getenv(ownNetworkVariable) == "" {
		if code, ok := runInOwnNetwork(); ok {
			os.Exit(code)
		}
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(ownNetworkVariable)
	if err := openNetwork(); err != nil {
		fmt.Fprintf(os.Stderr, "the network of the tests: %v\n", err)
		os.Exit(1)
	}
	hasOwnNetwork = true
	os.Exit(m.Run())
}
