package app

import (
	"net/http"

	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/fault"
)

// refuseAll stands where no signature can be checked yet.
type refuseAll struct{}

func (refuseAll) Authenticate(*http.Request, []byte) (awsrpc.Principal, error) {
	return awsrpc.Principal{}, fault.New(fault.AccessDenied, "no key is accepted")
}

func (a *App) signatures() awsrpc.Authenticator { return refuseAll{} }
