// Package sts answers GetCallerIdentity of the Security Token Service (query protocol, version
// 2011-06-15), by which tools ask whose key they have and of which account. Keys are Muster's
// own, so no other action is served. Source: AWS STS API reference.
package sts

import (
	"log/slog"
	"net/http"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/awsquery"
)

// Options configure a Door.
type Options struct {
	Account string // 12 digits
	// Caller returns the sender of a request whose body has been read, or a fault if it is not
	// authenticated. As in AWS, every sender may ask who it is.
	Caller func(r *http.Request, body []byte, action auth.Action) (auth.Caller, error)
	Logger *slog.Logger // nil discards
}

// New returns the door for requests that are signed for the service sts.
func New(o Options) *awsquery.API {
	return &awsquery.API{
		Name: "Security Token Service", Service: "sts", Namespace: "https://sts.amazonaws.com/doc/2011-06-15/", Version: "2011-06-15", Logger: o.Logger,
		Actions:  map[string]awsquery.Action{"GetCallerIdentity": o.identity},
		Unserved: "keys are made by `muster admin keys create`, and last until they expire or are deleted. GetCallerIdentity says whose key a request has",
		Known: func(q *awsquery.Request) error {
			_, err := o.Caller(q.Request, q.Body, action)
			return err
		},
	}
}

// action is what the audit log calls a request.
const action auth.Action = "GetCallerIdentity"

// identity is the result of GetCallerIdentity.
type identity struct {
	ARN     string `xml:"Arn"`
	UserID  string `xml:"UserId"`
	Account string
}

// identity serves GetCallerIdentity: the sender's key is a user of the account with the key's
// name.
func (o Options) identity(q *awsquery.Request) (any, error) {
	caller, err := o.Caller(q.Request, q.Body, action)
	if err != nil {
		return nil, err
	}
	return identity{"arn:aws:iam::" + o.Account + ":user/" + caller.Name, caller.Actor(), o.Account}, nil
}
