package lobby

// Code identifies what is wrong with a request, for programs.
type Code string

// The codes of refusals, in addition to those of identity and of internal/fault.
const (
	NotFound          Code = "not-found"
	NotAllowed        Code = "not-allowed"
	ScopeInsufficient Code = "scope-insufficient"
	Invalid           Code = "invalid-parameter"
	ValidationFailed  Code = "validation-failed"
	AttributeRejected Code = "attribute-rejected"
	LatencyRejected   Code = "latency-rejected"
	TicketActive      Code = "ticket-active"
	TicketEnded       Code = "ticket-ended"
	NotAwaitingAnswer Code = "not-awaiting-acceptance"
	PlacementEnded    Code = "placement-ended"
	AlreadyJoined     Code = "already-joined"
	PartyFull         Code = "party-full"
	PartyNotReady     Code = "party-not-ready"
	NotLeader         Code = "not-leader"
)

// Refusal is an error meant for the player's client. Its message may repeat what the
// client sent.
type Refusal struct {
	Code     Code
	Message  string
	TicketID string // of TicketActive: the requesting player's ticket that prevents it, or ""
}

// Error returns the code and the message.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Message }

func refuse(code Code, message string) error { return &Refusal{Code: code, Message: message} }
