package autoscaling

import (
	"log/slog"
	"net/http"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/fleetiq"
	"github.com/musterhq/muster/internal/awsquery"
	"github.com/musterhq/muster/internal/store"
)

// Options configure a Door.
type Options struct {
	Store  *store.Store     // required
	Groups *fleetiq.Service // required
	// Allow returns the sender of a request whose body has been read, or a fault if it may
	// not perform action on the resources.
	Allow  func(r *http.Request, body []byte, action auth.Action, resources ...string) (auth.Caller, error)
	Logger *slog.Logger // nil discards
}

// Door serves the requests that are signed for the service autoscaling.
type Door struct {
	awsquery.API
	opts Options
}

// New returns a door.
func New(o Options) *Door {
	d := &Door{opts: o}
	d.API = awsquery.API{
		Name: "Auto Scaling API", Service: "autoscaling", Namespace: "http://autoscaling.amazonaws.com/doc/2011-01-01/", Version: "2011-01-01", Logger: o.Logger,
		Actions:  map[string]awsquery.Action{"DescribeAutoScalingGroups": d.groups, "DescribePolicies": d.policies},
		Unserved: "Muster starts no machines and has no Auto Scaling groups of its own. DescribeAutoScalingGroups and DescribePolicies answer for those of game server groups",
		Known: func(q *awsquery.Request) error {
			_, err := o.Allow(q.Request, q.Body, list)
			return err
		},
	}
	return d
}
