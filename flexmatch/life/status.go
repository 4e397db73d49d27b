package life

import "github.com/musterhq/muster/internal/state"

// Status is the state of a ticket, spelled as the API's MatchmakingConfigurationStatus.
type Status string

// The states of a ticket.
const (
	Queued             Status = "QUEUED"
	Searching          Status = "SEARCHING"
	RequiresAcceptance Status = "REQUIRES_ACCEPTANCE"
	Placing            Status = "PLACING"
	Completed          Status = "COMPLETED"
	Failed             Status = "FAILED"
	Cancelled          Status = "CANCELLED"
	TimedOut           Status = "TIMED_OUT"
)

// Waits reports whether a ticket in this state is waiting for a match.
func (s Status) Waits() bool { return s == Queued || s == Searching }

// Over reports whether a ticket in this state has ended.
func (s Status) Over() bool {
	return s == Completed || s == Failed || s == Cancelled || s == TimedOut
}

func (s Status) stops() bool { return !s.Over() && s != Placing }

// Moves lists each allowed change of a ticket's status and what causes it.
var Moves = state.Machine[Status]{
	{"", Queued}:                    "StartMatchmaking, StartMatchBackfill, automatic backfill",
	{Queued, Searching}:             "taken into the pool",
	{Queued, Cancelled}:             "StopMatchmaking, duplicate player, backfill replaced, game session ended",
	{Queued, TimedOut}:              "RequestTimeoutSeconds passed",
	{Searching, RequiresAcceptance}: "potential match, acceptance required",
	{Searching, Placing}:            "match",
	{Searching, Completed}:          "match, standalone",
	{Searching, Cancelled}:          "StopMatchmaking, duplicate player, backfill replaced, game session ended",
	{Searching, TimedOut}:           "RequestTimeoutSeconds passed",
	{RequiresAcceptance, Searching}: "rejected by others, or not accepted by others in time",
	{RequiresAcceptance, Placing}:   "all players accepted",
	{RequiresAcceptance, Completed}: "all players accepted, standalone",
	{RequiresAcceptance, Cancelled}: "rejected, not answered in time, StopMatchmaking, duplicate player, backfill replaced, game session ended",
	{Placing, Completed}:            "game session ACTIVE, or filled up",
	{Placing, Failed}:               "the placement failed, or the game session takes no players",
	{Placing, Searching}:            "the queue's timeout passed, or the game session to fill up has no room any more",
}
