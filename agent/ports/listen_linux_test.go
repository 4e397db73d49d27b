package ports

import "testing"

func TestListen_BeforeTheAddressIsThere(t *testing.T) {
	t.Parallel()
	l, err := Listen("198.51.100.77:0") // for documentation: no machine has it
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
