package limit

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// Refuse returns a fault of kind fault.Throttling with how long to wait.
func Refuse(wait time.Duration, format string, args ...any) error {
	return &fault.Fault{Kind: fault.Throttling, Message: fmt.Sprintf(format, args...), Wait: wait}
}

// Advise sets the Retry-After header of a response if the error says how long to wait.
func Advise(h http.Header, err error) {
	if f, ok := fault.As(err); ok && f.Wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(f.Wait.Seconds())), 10))
	}
}
