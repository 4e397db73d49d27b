package histories

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/musterhq/muster/internal/wait"
)

// All histories run, although more time passes in each than a test may take.
func TestCheck(t *testing.T) {
	n, began := 0, time.Now()
	Check(t, func(*rapid.T) {
		n++
		wait.Pass(7 * 24 * time.Hour)
	})
	if n < 20 || time.Since(began) > time.Hour { // 100, or 20 in short mode
		t.Errorf("%d histories ran within %s", n, time.Since(began))
	}
}
