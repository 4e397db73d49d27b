package notify

import (
	"fmt"

	"github.com/musterhq/muster/internal/store"
)

// Status is where a subscription is in its life.
type Status string

// The statuses of a subscription.
const (
	Pending      Status = "PENDING"      // the endpoint is asked, again and again, to visit SubscribeURL
	Confirmed    Status = "CONFIRMED"    // it did; it gets notifications
	Leaving      Status = "LEAVING"      // it unsubscribed and has not been told so yet
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

// Moves gives the allowed changes of a subscription's status and what causes
// each, for the diagram in docs/state-machines.md.
func Moves() map[[2]Status]string { return moves }

// move gives a subscription its next status.
func (t *tables) move(tx *store.Tx, s Subscription, to Status) {
	if _, ok := moves[[2]Status{s.Status, to}]; !ok {
		panic(fmt.Sprintf("notify: subscription %s cannot move from %q to %q", s.ARN, s.Status, to))
	}
	s.Status, s.Changed = to, tx.Now()
	t.subscriptions.Put(tx, &s)
}
