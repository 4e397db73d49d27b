package notify

import "github.com/musterhq/muster/internal/state"

// Status is the state of a subscription.
type Status string

// The statuses of a subscription.
const (
	Pending      Status = "PENDING"      // the endpoint is asked repeatedly to visit SubscribeURL
	Confirmed    Status = "CONFIRMED"    // the endpoint visited it, and gets notifications
	Leaving      Status = "LEAVING"      // it unsubscribed and has not been notified of that yet
	Unsubscribed Status = "UNSUBSCRIBED" // it gets nothing until SubscribeURL is visited, or an operator subscribes it anew
)

// Moves lists each allowed change of a subscription's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Pending}:             "the configuration names the topic",
	{Pending, Pending}:        "the sink's URL has changed, or an operator subscribes it anew",
	{Confirmed, Pending}:      "the sink's URL has changed, or an operator subscribes it anew",
	{Leaving, Pending}:        "the sink's URL has changed, or an operator subscribes it anew",
	{Unsubscribed, Pending}:   "the sink's URL has changed, or an operator subscribes it anew",
	{Pending, Confirmed}:      "SubscribeURL is visited",
	{Leaving, Confirmed}:      "SubscribeURL is visited",
	{Unsubscribed, Confirmed}: "SubscribeURL is visited",
	{Pending, Leaving}:        "UnsubscribeURL is visited",
	{Confirmed, Leaving}:      "UnsubscribeURL is visited",
	{Leaving, Unsubscribed}:   "the endpoint took the message that says so, or refused it too often",
}
