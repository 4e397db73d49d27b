package lobby

import "github.com/musterhq/muster/internal/refusal"

// The codes of refusals, in addition to those of identity.
const (
	NotFound          refusal.Code = "not-found"
	NotAllowed        refusal.Code = "not-allowed"
	ScopeInsufficient refusal.Code = "scope-insufficient"
	Invalid           refusal.Code = "invalid-parameter"
	ValidationFailed  refusal.Code = "validation-failed"
	AttributeRejected refusal.Code = "attribute-rejected"
	LatencyRejected   refusal.Code = "latency-rejected"
	TicketActive      refusal.Code = "ticket-active"
	TicketEnded       refusal.Code = "ticket-ended"
	NotAwaitingAnswer refusal.Code = "not-awaiting-acceptance"
	PlacementEnded    refusal.Code = "placement-ended"
	AlreadyJoined     refusal.Code = "already-joined"
	PartyFull         refusal.Code = "party-full"
	PartyNotReady     refusal.Code = "party-not-ready"
	NotLeader         refusal.Code = "not-leader"
)

// refuse returns a refusal. The message may repeat what the client sent.
func refuse(code refusal.Code, message string) error {
	return &refusal.Refusal{Code: code, Message: message}
}
