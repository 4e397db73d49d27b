package event

import (
	"iter"
	"maps"

	"github.com/musterhq/muster/internal/store"
)

// Weight says why an operator wants to know of events of a code.
type Weight string

// The weights of notable codes.
const (
	Failure  Weight = "failure"  // something does not work
	Warning  Weight = "warning"  // something may soon not work, or went wrong once
	Recovery Weight = "recovery" // something works, now or again
	Change   Weight = "change"   // somebody changed what the server does
)

// weights are the notable codes.
var weights = map[Code]Weight{
	ServerProcessCrashed:        Failure,
	ServerProcessReadyTimeout:   Failure,
	ServerProcessUnhealthy:      Failure,
	ServerProcessInvalidPath:    Failure,
	ServerProcessSDKInitTimeout: Failure,
	GameGroupCrashed:            Failure,
	InstanceGroupCrashed:        Failure,
	FleetStateError:             Failure,
	FleetBinaryDownloadFailed:   Failure,
	FleetLaunchPathNotFound:     Failure,
	FleetExecutableFailed:       Failure,
	FleetValidationTimedOut:     Failure,
	FleetActivationFailed:       Failure,
	LocationStateError:          Failure,
	HostImpaired:                Failure,
	HostLost:                    Failure,
	HostUsedElsewhere:           Failure,
	PlacementFailed:             Failure,
	MatchmakingFailed:           Failure,
	BuildFailed:                 Failure,
	ContainerGroupFailed:        Failure,
	ServerProcessWrongPort:      Failure,
	CommitsLost:                 Failure,
	EventsNotArchived:           Failure,

	GameSessionActivationTimeout: Warning,
	ServerProcessForceTerminated: Warning,
	ServerProcessExitTimeout:     Warning,
	GameGroupReplaced:            Warning,
	InstanceReplaced:             Warning,
	LogUploadFailed:              Warning,
	HostDisconnected:             Warning,
	PlacementTimedOut:            Warning,
	MatchmakingTimedOut:          Warning,
	PlayerTokenReused:            Warning,

	FleetStateActive: Recovery,
	HostJoined:       Recovery,
	HostConnected:    Recovery,

	FleetScaling:         Change,
	HostDraining:         Change,
	HostDrained:          Change,
	RuleSetCreated:       Change,
	ConfigurationUpdated: Change,
	QueueUpdated:         Change,
	KeyCreated:           Change,
	KeyDeleted:           Change,
	PlayerBanned:         Change,
}

// Weight returns the weight of a notable code, and "" of all others.
func (c Code) Weight() Weight { return weights[c] }

// Notables returns the notable codes.
func Notables() iter.Seq[Code] { return maps.Keys(weights) }

// OnNotable registers a function that is called in the transaction that appends an event
// with a notable code. It must be called before the store is opened.
func (l *Log) OnNotable(f func(tx *store.Tx, e Entry)) { l.onNotable = append(l.onNotable, f) }

// notable returns the value of the column by which notable events are found by their code.
// It is empty for all others, which are nearly all: the index of the column has only those
// with a value.
func notable(e *Event) string {
	if e.Code.Weight() == "" {
		return ""
	}
	return string(e.Code)
}
