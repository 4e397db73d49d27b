package notify

import (
	"fmt"

	"github.com/musterhq/muster/internal/store"
)

// Status is the state of a subscription.
type Status string

// The statuses of a subscription.
const (
	Pending      Status = "PENDING"      // the endpoint is told repeatedly to visit SubscribeURL
	Confirmed    Status = "CONFIRMED"    // the endpoint visited it, and gets notifications
	Leaving      Status = "LEAVING"      // it unsubscribed and has not been notified of that yet
	Unsubscribed Status = "UNSUBSCRIBED" // it gets nothing until SubscribeURL is visited, or an operator subscribes it anew
)

// moves are the allowed changes of status and what causes them.
var moves = map[[2]Status]string{
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

// Moves returns the allowed changes of a subscription's status and the cause of each,
// for the diagram in docs/state-machines.md.
func Moves() map[[2]Status]string { return moves }

// move changes a subscription's status. It panics if the change is not in the table.
func (t *tables) move(tx *store.Tx, s Subscription, to Status) {
	if _, ok := moves[[2]Status{s.Status, to}]; !ok {
		panic(fmt.Sprintf("notify: subscription %s cannot move from %q to %q", s.ARN, s.Status, to))
	}
	s.Status, s.Changed = to, tx.Now()
	t.subscriptions.Put(tx, &s)
}
