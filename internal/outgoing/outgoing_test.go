package outgoing

import (
	"errors"
	"testing"
)

func TestControl(t *testing.T) {
	for _, address := range []string{
		"169.254.169.254:80", "[fe80::1]:80", "[::ffff:169.254.169.254]:80", "[64:ff9b::a9fe:a9fe]:80",
		"[fd00:ec2::254]:80", "0.0.0.0:80", "[::]:80", "224.0.0.1:80", "[ff02::1]:80",
	} {
		if err := Control("tcp", address, nil); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:80", "10.0.0.1:80", "192.0.2.1:443", "[::1]:80", "[2001:db8::1]:80", "[fd00:ec2::1]:80", "[64:ff9b::c000:201]:80"} {
		if err := Control("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if Control("tcp", "name:80", nil) == nil {
		t.Error("a name was taken for an address")
	}
}
