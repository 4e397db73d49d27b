package node

import (
	"errors"
	"net/http"
	"regexp"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// ErrKilled is the error of the requests of a killed command.
var ErrKilled = errors.New("the command was killed")

// reads matches the paths of operations that change nothing.
var reads = regexp.MustCompile("/(Describe|List|Get)[A-Za-z]*$")

// Killed returns the HTTP client of a command that is killed at one of its requests that change
// something, counted from 1: before the server carries the request out, or after it has. Requests that
// follow fail too.
func Killed(at int, carried bool) gamelift.HTTPClient {
	return &killed{at: at, carried: carried}
}

type killed struct {
	at      int
	carried bool
	mu      sync.Mutex
	changes int
}

func (k *killed) Do(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !reads.MatchString(r.URL.Path) {
		k.changes++
	}
	switch {
	case k.changes < k.at:
		return http.DefaultClient.Do(r)
	case k.changes == k.at && k.carried:
		k.changes++
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
		}
	}
	return nil, ErrKilled
}
