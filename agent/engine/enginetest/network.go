package enginetest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
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
		if code, ok := inOwnNetwork(os.Stdout, os.Stderr, os.Args[1:]...); ok {
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

// Alone runs a test again in a process and a network of its own, and reports whether this is that
// run. In the other one the test is over then, with the same result. It is for single tests of
// packages whose other tests use the machine's network; the test must be no part of another.
func Alone(t *testing.T) bool {
	t.Helper()
	if hasOwnNetwork {
		return true
	}
	if os.Getenv(ownNetworkVariable) != "" {
		if err := os.Unsetenv(ownNetworkVariable); err != nil {
			t.Fatal(err)
		}
		if err := openNetwork(); err != nil {
			t.Fatalf("the network of the test: %v", err)
		}
		hasOwnNetwork = true
		return true
	}
	needs(t, "iproute2", "ip")
	var out bytes.Buffer
	code, ok := inOwnNetwork(&out, &out, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=14m")
	// Without marks the tools that read the output of tests would take its lines for their own.
	printed := "| " + strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", "\n| ")
	switch {
	case !ok:
		t.Skip("this machine makes no network namespaces; a container needs CAP_SYS_ADMIN for it")
	case code != 0:
		t.Fatalf("in a network of its own the test ends with %d:\n%s", code, printed)
	case strings.Contains(printed, "--- SKIP: "+t.Name()):
		t.Skip(printed)
	case !strings.Contains(printed, "--- PASS: "+t.Name()):
		t.Fatalf("in a network of its own the test does not run:\n%s", printed)
	}
	return false
}
