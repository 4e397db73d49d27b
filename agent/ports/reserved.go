package ports

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
)

// The ports of ListenReserved, without those that programs of the system are known by.
const (
	reservedFrom = 600
	reservedTo   = 1022
)

var wellKnown = []int{
	601, 623, 625, 631, 635, 636, 646, 647, 648, 655, 660, 664, 674, 688, 690, 694, 700, 706, 749, 750, 751, 752, 754, 760, 765, 767,
	774, 777, 783, 800, 808, 829, 843, 847, 848, 853, 860, 861, 862, 871, 873, 888, 897, 898, 901, 902, 903, 911, 953, 981, 987, 989,
	990, 991, 992, 993, 994, 995, 996, 999, 1010,
}

// ListenReserved listens at a free TCP port of an IPv4 address at which, on Linux, only root
// may listen, so that no other program gets the port while this one is restarted. If this
// program may not either, or all are taken, it is a port of those that any program may use.
func ListenReserved(host string) (net.Listener, error) {
	if runtime.GOOS == "linux" {
		for _, n := range rand.Perm(reservedTo - reservedFrom + 1) {
			port := reservedFrom + n
			if slices.Contains(wellKnown, port) {
				continue
			}
			l, err := Listen(net.JoinHostPort(host, strconv.Itoa(port)))
			if err == nil {
				return l, nil
			}
			if errors.Is(err, fs.ErrPermission) {
				break
			}
		}
	}
	return Listen(net.JoinHostPort(host, "0"))
}
