package event

// Code identifies a kind of event.
type Code string

// Fleet event codes, spelled as in the API's EventCode.
const (
	FleetCreated                 Code = "FLEET_CREATED"
	FleetDeleted                 Code = "FLEET_DELETED"
	FleetStateActive             Code = "FLEET_STATE_ACTIVE"
	FleetProtectionPolicyUpdated Code = "FLEET_NEW_GAME_SESSION_PROTECTION_POLICY_UPDATED"
	GameSessionActivationTimeout Code = "GAME_SESSION_ACTIVATION_TIMEOUT"
	ServerProcessCrashed         Code = "SERVER_PROCESS_CRASHED"
	ServerProcessForceTerminated Code = "SERVER_PROCESS_FORCE_TERMINATED"
	ServerProcessReadyTimeout    Code = "SERVER_PROCESS_PROCESS_READY_TIMEOUT"
	ServerProcessUnhealthy       Code = "SERVER_PROCESS_TERMINATED_UNHEALTHY"
	ServerProcessExitTimeout     Code = "SERVER_PROCESS_PROCESS_EXIT_TIMEOUT"
	ServerProcessInvalidPath     Code = "SERVER_PROCESS_INVALID_PATH"
	ServerProcessSDKInitTimeout  Code = "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT"
	ServerProcessWrongPort       Code = "SERVER_PROCESS_MISCONFIGURED_CONTAINER_PORT"
	GameGroupCrashed             Code = "GAME_SERVER_CONTAINER_GROUP_CRASHED"
	GameGroupReplaced            Code = "GAME_SERVER_CONTAINER_GROUP_REPLACED_UNHEALTHY"
	InstanceGroupCrashed         Code = "PER_INSTANCE_CONTAINER_GROUP_CRASHED"
	LocationStateActive          Code = "LOCATION_STATE_ACTIVE"
	LocationStateDeleting        Code = "LOCATION_STATE_DELETING"
	LocationStateDeleted         Code = "LOCATION_STATE_DELETED"
	GenericEvent                 Code = "GENERIC_EVENT"
	FleetStateDownloading        Code = "FLEET_STATE_DOWNLOADING"
	FleetStateValidating         Code = "FLEET_STATE_VALIDATING"
	FleetStateBuilding           Code = "FLEET_STATE_BUILDING"
	FleetStateActivating         Code = "FLEET_STATE_ACTIVATING"
	FleetStateError              Code = "FLEET_STATE_ERROR"
	FleetExtractingBuild         Code = "FLEET_CREATION_EXTRACTING_BUILD"
	FleetRunningInstaller        Code = "FLEET_CREATION_RUNNING_INSTALLER"
	FleetCompletedInstaller      Code = "FLEET_CREATION_COMPLETED_INSTALLER"
	FleetFailedInstaller         Code = "FLEET_CREATION_FAILED_INSTALLER"
	FleetValidatingRuntime       Code = "FLEET_CREATION_VALIDATING_RUNTIME_CONFIG"
	FleetBinaryDownloadFailed    Code = "FLEET_BINARY_DOWNLOAD_FAILED"
	FleetLaunchPathNotFound      Code = "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"
	FleetExecutableFailed        Code = "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"
	FleetValidationTimedOut      Code = "FLEET_VALIDATION_TIMED_OUT"
	FleetActivationFailed        Code = "FLEET_ACTIVATION_FAILED"
	FleetScaling                 Code = "FLEET_SCALING_EVENT"
	LocationStateActivating      Code = "LOCATION_STATE_ACTIVATING"
	LocationStateError           Code = "LOCATION_STATE_ERROR"
	FleetStatePending            Code = "FLEET_STATE_PENDING"
	FleetStateCreating           Code = "FLEET_STATE_CREATING"
	FleetStateCreated            Code = "FLEET_STATE_CREATED"
	FleetStateUpdating           Code = "FLEET_STATE_UPDATING"
	LocationStatePending         Code = "LOCATION_STATE_PENDING"
	LocationStateCreating        Code = "LOCATION_STATE_CREATING"
	LocationStateCreated         Code = "LOCATION_STATE_CREATED"
	LocationStateUpdating        Code = "LOCATION_STATE_UPDATING"
	InstanceReplaced             Code = "INSTANCE_REPLACED_UNHEALTHY"
	LogUploadFailed              Code = "COMPUTE_LOG_UPLOAD_FAILED"
)

// Muster's own codes, for operators; DescribeFleetEvents does not show them.
const (
	AliasCreated           Code = "ALIAS_CREATED"
	AliasUpdated           Code = "ALIAS_UPDATED"
	AliasDeleted           Code = "ALIAS_DELETED"
	FleetUpdated           Code = "FLEET_UPDATED"
	FleetDeleting          Code = "FLEET_STATE_DELETING"
	LocationCreated        Code = "LOCATION_CREATED"
	LocationDeleted        Code = "LOCATION_DELETED"
	HostTokenMade          Code = "HOST_JOIN_TOKEN_CREATED"
	HostTokenRevoked       Code = "HOST_JOIN_TOKEN_REVOKED"
	HostJoined             Code = "HOST_JOINED"
	HostDraining           Code = "HOST_DRAINING"
	HostDrained            Code = "HOST_DRAINED"
	HostResumed            Code = "HOST_RESUMED"
	HostRemoving           Code = "HOST_REMOVING"
	HostRemoved            Code = "HOST_REMOVED"
	HostSecretRotated      Code = "HOST_CREDENTIAL_ROTATED"
	HostUsedElsewhere      Code = "HOST_CREDENTIAL_USED_ELSEWHERE"
	HostConnected          Code = "HOST_CONNECTED"
	HostDisconnected       Code = "HOST_DISCONNECTED"
	HostImpaired           Code = "HOST_IMPAIRED"
	HostLost               Code = "HOST_LOST"
	InstanceMade           Code = "INSTANCE_CREATED"
	InstanceActive         Code = "INSTANCE_ACTIVE"
	InstanceDraining       Code = "INSTANCE_TERMINATING"
	InstanceGone           Code = "INSTANCE_TERMINATED"
	CommitsLost            Code = "COMMITS_LOST"
	ComputeRegistered      Code = "COMPUTE_REGISTERED"
	ComputeDeregistered    Code = "COMPUTE_DEREGISTERED"
	ProcessInitialized     Code = "SERVER_PROCESS_INITIALIZED"
	ProcessActive          Code = "SERVER_PROCESS_ACTIVE"
	ProcessDisconnected    Code = "SERVER_PROCESS_DISCONNECTED"
	ProcessReconnected     Code = "SERVER_PROCESS_RECONNECTED"
	ProcessTerminating     Code = "SERVER_PROCESS_TERMINATING"
	ProcessEnded           Code = "SERVER_PROCESS_ENDED"
	GameSessionCreated     Code = "GAME_SESSION_CREATED"
	GameSessionActivated   Code = "GAME_SESSION_ACTIVATED"
	GameSessionUpdated     Code = "GAME_SESSION_UPDATED"
	GameSessionTerminating Code = "GAME_SESSION_TERMINATING"
	GameSessionTerminated  Code = "GAME_SESSION_TERMINATED"
	PlayerSessionAccepted  Code = "PLAYER_SESSION_ACCEPTED"
	PlayerSessionRemoved   Code = "PLAYER_SESSION_REMOVED"
	PlayerSessionTimedOut  Code = "PLAYER_SESSION_TIMED_OUT"
	QueueCreated           Code = "QUEUE_CREATED"
	QueueUpdated           Code = "QUEUE_UPDATED"
	QueueDeleted           Code = "QUEUE_DELETED"
	PlacementStarted       Code = "PLACEMENT_STARTED"
	PlacementSent          Code = "PLACEMENT_SENT" // to a remote
	PlacementLeft          Code = "PLACEMENT_LEFT" // a game session that nobody uses may be left at a remote
	PlacementRetried       Code = "PLACEMENT_RETRIED"
	PlacementFulfilled     Code = "PLACEMENT_FULFILLED"
	PlacementCancelled     Code = "PLACEMENT_CANCELLED"
	PlacementTimedOut      Code = "PLACEMENT_TIMED_OUT"
	PlacementFailed        Code = "PLACEMENT_FAILED"
	GameServerGroupCreated Code = "GAME_SERVER_GROUP_CREATED"
	GameServerGroupUpdated Code = "GAME_SERVER_GROUP_UPDATED"
	GameServerGroupLeaving Code = "GAME_SERVER_GROUP_DELETE_SCHEDULED"
	GameServerGroupDeleted Code = "GAME_SERVER_GROUP_DELETED"
	GameServerRegistered   Code = "GAME_SERVER_REGISTERED"
	GameServerClaimed      Code = "GAME_SERVER_CLAIMED"
	GameServerClaimExpired Code = "GAME_SERVER_CLAIM_EXPIRED"
	GameServerUtilized     Code = "GAME_SERVER_UTILIZED"
	GameServerUnhealthy    Code = "GAME_SERVER_DEREGISTERED_UNHEALTHY"
	GameServerDeregistered Code = "GAME_SERVER_DEREGISTERED"
	BuildCreated           Code = "BUILD_CREATED"
	BuildUpdated           Code = "BUILD_UPDATED"
	BuildReady             Code = "BUILD_READY"
	BuildFailed            Code = "BUILD_FAILED"
	BuildDeleted           Code = "BUILD_DELETED"
	ScriptCreated          Code = "SCRIPT_CREATED"
	ScriptUpdated          Code = "SCRIPT_UPDATED"
	ScriptDeleted          Code = "SCRIPT_DELETED"
	ContainerGroupCreated  Code = "CONTAINER_GROUP_DEFINITION_CREATED"
	ContainerGroupUpdated  Code = "CONTAINER_GROUP_DEFINITION_UPDATED"
	ContainerGroupReady    Code = "CONTAINER_GROUP_DEFINITION_READY"
	ContainerGroupFailed   Code = "CONTAINER_GROUP_DEFINITION_FAILED"
	ContainerGroupDeleted  Code = "CONTAINER_GROUP_DEFINITION_DELETED"
	RuleSetCreated         Code = "RULE_SET_CREATED"
	RuleSetDeleted         Code = "RULE_SET_DELETED"
	ConfigurationCreated   Code = "MATCHMAKING_CONFIGURATION_CREATED"
	ConfigurationUpdated   Code = "MATCHMAKING_CONFIGURATION_UPDATED"
	ConfigurationDeleted   Code = "MATCHMAKING_CONFIGURATION_DELETED"
	MatchmakingSearching   Code = "MATCHMAKING_SEARCHING"
	PotentialMatchCreated  Code = "POTENTIAL_MATCH_CREATED"
	MatchAnswered          Code = "MATCH_ANSWERED"
	MatchAcceptanceEnded   Code = "MATCH_ACCEPTANCE_ENDED"
	MatchmakingSucceeded   Code = "MATCHMAKING_SUCCEEDED"
	MatchmakingTimedOut    Code = "MATCHMAKING_TIMED_OUT"
	MatchmakingCancelled   Code = "MATCHMAKING_CANCELLED"
	MatchmakingFailed      Code = "MATCHMAKING_FAILED"
	KeyCreated             Code = "ACCESS_KEY_CREATED"
	KeyDeleted             Code = "ACCESS_KEY_DELETED"
	KeyDisabled            Code = "ACCESS_KEY_DISABLED"
	KeyEnabled             Code = "ACCESS_KEY_ENABLED"
)

// Published reports whether DescribeFleetEvents shows events of this code.
func (c Code) Published() bool {
	switch c {
	case FleetCreated, FleetDeleted, FleetStateActive, FleetProtectionPolicyUpdated,
		GameSessionActivationTimeout, ServerProcessCrashed, ServerProcessForceTerminated,
		ServerProcessReadyTimeout, ServerProcessUnhealthy, ServerProcessExitTimeout,
		ServerProcessInvalidPath, ServerProcessSDKInitTimeout, ServerProcessWrongPort,
		GameGroupCrashed, GameGroupReplaced, InstanceGroupCrashed,
		LocationStateActive, LocationStateDeleting, LocationStateDeleted, GenericEvent,
		FleetStateDownloading, FleetStateValidating, FleetStateBuilding, FleetStateActivating, FleetStateError,
		FleetExtractingBuild, FleetRunningInstaller, FleetCompletedInstaller, FleetFailedInstaller,
		FleetValidatingRuntime, FleetBinaryDownloadFailed, FleetLaunchPathNotFound, FleetExecutableFailed,
		FleetValidationTimedOut, FleetActivationFailed, FleetScaling,
		LocationStateActivating, LocationStateError, InstanceReplaced, LogUploadFailed,
		FleetStatePending, FleetStateCreating, FleetStateCreated, FleetStateUpdating,
		LocationStatePending, LocationStateCreating, LocationStateCreated, LocationStateUpdating:
		return true
	}
	return false
}

// Codes of events of players' accounts. Resource is the player's id.
const (
	PlayerCreated     Code = "PLAYER_CREATED"
	PlayerLinked      Code = "PLAYER_IDENTITY_LINKED"
	PlayerUnlinked    Code = "PLAYER_IDENTITY_UNLINKED"
	PlayerMerged      Code = "PLAYER_MERGED" // Resource is the player kept; the message begins with the other one
	PlayerTokenReused Code = "PLAYER_REFRESH_TOKEN_REUSED"
	PlayerBanned      Code = "PLAYER_BANNED"
	PlayerDeleted     Code = "PLAYER_DELETED"
	PlayerKeyCreated  Code = "PLAYER_SIGNING_KEY_CREATED" // Resource is the key's id
)
