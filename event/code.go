package event

// Code identifies a kind of event.
type Code string

// Fleet event codes, spelled as in the API's EventCode.
const (
	FleetCreated                 Code = "FLEET_CREATED"                                    // a fleet was created
	FleetDeleted                 Code = "FLEET_DELETED"                                    // a fleet is gone
	FleetStateActive             Code = "FLEET_STATE_ACTIVE"                               // a fleet can host game sessions
	FleetProtectionPolicyUpdated Code = "FLEET_NEW_GAME_SESSION_PROTECTION_POLICY_UPDATED" // the protection of new game sessions of a fleet was changed
	GameSessionActivationTimeout Code = "GAME_SESSION_ACTIVATION_TIMEOUT"                  // a game server did not activate its game session in time
	ServerProcessCrashed         Code = "SERVER_PROCESS_CRASHED"                           // a game server ended without being told to and without ProcessEnding, or lost its connection for too long
	ServerProcessForceTerminated Code = "SERVER_PROCESS_FORCE_TERMINATED"                  // a game server did not end when it was told to, and was killed
	ServerProcessReadyTimeout    Code = "SERVER_PROCESS_PROCESS_READY_TIMEOUT"             // a game server called InitSDK, but not ProcessReady in time
	ServerProcessUnhealthy       Code = "SERVER_PROCESS_TERMINATED_UNHEALTHY"              // a game server reported bad health, or did not report, and was ended
	ServerProcessExitTimeout     Code = "SERVER_PROCESS_PROCESS_EXIT_TIMEOUT"              // a game server called ProcessEnding, but did not exit in time
	ServerProcessInvalidPath     Code = "SERVER_PROCESS_INVALID_PATH"                      // the launch path of a runtime configuration is not in the build, or no program
	ServerProcessSDKInitTimeout  Code = "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT"        // a game server was started, but did not call InitSDK in time
	ServerProcessWrongPort       Code = "SERVER_PROCESS_MISCONFIGURED_CONTAINER_PORT"      // a game server in a container listens on a port that its group does not publish
	GameGroupCrashed             Code = "GAME_SERVER_CONTAINER_GROUP_CRASHED"              // an essential container of a game server container group ended
	GameGroupReplaced            Code = "GAME_SERVER_CONTAINER_GROUP_REPLACED_UNHEALTHY"   // a game server container group failed its health checks, and was replaced
	InstanceGroupCrashed         Code = "PER_INSTANCE_CONTAINER_GROUP_CRASHED"             // an essential container of a per-instance container group ended
	LocationStateActive          Code = "LOCATION_STATE_ACTIVE"                            // a location of a fleet can host game sessions
	LocationStateDeleting        Code = "LOCATION_STATE_DELETING"                          // a location is being removed from a fleet
	LocationStateDeleted         Code = "LOCATION_STATE_DELETED"                           // a location was removed from a fleet
	GenericEvent                 Code = "GENERIC_EVENT"                                    // anything without a code of its own
	FleetStateDownloading        Code = "FLEET_STATE_DOWNLOADING"                          // the first host of a fleet downloads its build
	FleetStateValidating         Code = "FLEET_STATE_VALIDATING"                           // the first host of a fleet checks its build and runtime configuration
	FleetStateBuilding           Code = "FLEET_STATE_BUILDING"                             // the first host of a fleet installs its build
	FleetStateActivating         Code = "FLEET_STATE_ACTIVATING"                           // a fleet waits for its first game server to be ready
	FleetStateError              Code = "FLEET_STATE_ERROR"                                // a fleet could not be activated; the message says why
	FleetExtractingBuild         Code = "FLEET_CREATION_EXTRACTING_BUILD"                  // a host unpacks the build
	FleetRunningInstaller        Code = "FLEET_CREATION_RUNNING_INSTALLER"                 // a host runs the install script of the build
	FleetCompletedInstaller      Code = "FLEET_CREATION_COMPLETED_INSTALLER"               // the install script ended well
	FleetFailedInstaller         Code = "FLEET_CREATION_FAILED_INSTALLER"                  // the install script failed; the message has its exit code and last lines
	FleetValidatingRuntime       Code = "FLEET_CREATION_VALIDATING_RUNTIME_CONFIG"         // a host looks for the programs of the runtime configuration
	FleetBinaryDownloadFailed    Code = "FLEET_BINARY_DOWNLOAD_FAILED"                     // a host could not download the build
	FleetLaunchPathNotFound      Code = "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"           // the build does not have the program of the runtime configuration
	FleetExecutableFailed        Code = "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"      // the program of the runtime configuration could not be started, or ended at once
	FleetValidationTimedOut      Code = "FLEET_VALIDATION_TIMED_OUT"                       // the build was not installed and checked in time
	FleetActivationFailed        Code = "FLEET_ACTIVATION_FAILED"                          // no game server of a new fleet became ready
	FleetScaling                 Code = "FLEET_SCALING_EVENT"                              // the desired capacity of a fleet was changed
	LocationStateActivating      Code = "LOCATION_STATE_ACTIVATING"                        // a location waits for its first game server to be ready
	LocationStateError           Code = "LOCATION_STATE_ERROR"                             // a location could not be activated; the message says why
	FleetStatePending            Code = "FLEET_STATE_PENDING"                              // a container fleet waits to be created
	FleetStateCreating           Code = "FLEET_STATE_CREATING"                             // a container fleet is being created
	FleetStateCreated            Code = "FLEET_STATE_CREATED"                              // a container fleet was created, and no instance runs yet
	FleetStateUpdating           Code = "FLEET_STATE_UPDATING"                             // a deployment changes a container fleet
	LocationStatePending         Code = "LOCATION_STATE_PENDING"                           // a location of a container fleet waits to be created
	LocationStateCreating        Code = "LOCATION_STATE_CREATING"                          // a location of a container fleet is being created
	LocationStateCreated         Code = "LOCATION_STATE_CREATED"                           // a location of a container fleet was created, and no instance runs yet
	LocationStateUpdating        Code = "LOCATION_STATE_UPDATING"                          // a deployment changes a location of a container fleet
	InstanceReplaced             Code = "INSTANCE_REPLACED_UNHEALTHY"                      // an instance could not do its work, and is replaced by another
	LogUploadFailed              Code = "COMPUTE_LOG_UPLOAD_FAILED"                        // logs of a game server could not be stored
)

// Muster's own codes, for operators; DescribeFleetEvents does not show them.
const (
	AliasCreated           Code = "ALIAS_CREATED"                      // an alias was created
	AliasUpdated           Code = "ALIAS_UPDATED"                      // an alias leads to another fleet, or was renamed
	AliasDeleted           Code = "ALIAS_DELETED"                      // an alias was deleted
	FleetUpdated           Code = "FLEET_UPDATED"                      // attributes, ports, capacity or the runtime configuration of a fleet were changed
	FleetDeleting          Code = "FLEET_STATE_DELETING"               // a fleet is being deleted
	LocationCreated        Code = "LOCATION_CREATED"                   // a custom location was created
	LocationDeleted        Code = "LOCATION_DELETED"                   // a custom location was deleted
	HostTokenMade          Code = "HOST_JOIN_TOKEN_CREATED"            // a join token for machines was made
	HostTokenRevoked       Code = "HOST_JOIN_TOKEN_REVOKED"            // a join token was revoked
	HostJoined             Code = "HOST_JOINED"                        // a machine joined
	HostDraining           Code = "HOST_DRAINING"                      // a machine takes no new game sessions, by request
	HostDrained            Code = "HOST_DRAINED"                       // a machine that drains has no game session any more
	HostResumed            Code = "HOST_RESUMED"                       // a machine takes game sessions again
	HostRemoving           Code = "HOST_REMOVING"                      // a machine is being removed
	HostRemoved            Code = "HOST_REMOVED"                       // a machine was removed, and its credential is not valid any more
	HostSecretRotated      Code = "HOST_CREDENTIAL_ROTATED"            // a machine renewed its secret
	HostUsedElsewhere      Code = "HOST_CREDENTIAL_USED_ELSEWHERE"     // a second agent connected with the credential of a machine: somebody may have a copy
	HostConnected          Code = "HOST_CONNECTED"                     // the agent of a machine is connected
	HostDisconnected       Code = "HOST_DISCONNECTED"                  // the agent of a machine lost its connection; its game sessions go on
	HostImpaired           Code = "HOST_IMPAIRED"                      // a machine reports that it cannot do its work; the message says what is wrong
	HostLost               Code = "HOST_LOST"                          // the agent of a machine did not come back, and no game server there is connected
	InstanceMade           Code = "INSTANCE_CREATED"                   // an instance of a fleet was planned on a machine
	InstanceActive         Code = "INSTANCE_ACTIVE"                    // an instance has its build installed and runs game servers
	InstanceDraining       Code = "INSTANCE_TERMINATING"               // an instance takes no new game sessions and ends
	InstanceGone           Code = "INSTANCE_TERMINATED"                // an instance ended
	CommitsLost            Code = "COMMITS_LOST"                       // the database lost changes that it had confirmed; the message says what follows
	EventsNotArchived      Code = "EVENTS_NOT_ARCHIVED"                // events were removed from the database before the archive of events had them; the message says which
	ComputeRegistered      Code = "COMPUTE_REGISTERED"                 // a compute was registered in an Anywhere fleet
	ComputeMoved           Code = "COMPUTE_ADDRESS_CHANGED"            // players reach a compute, and its game sessions, at another address
	ComputeDeregistered    Code = "COMPUTE_DEREGISTERED"               // a compute was deregistered
	ProcessInitialized     Code = "SERVER_PROCESS_INITIALIZED"         // a game server called InitSDK
	ProcessActive          Code = "SERVER_PROCESS_ACTIVE"              // a game server called ProcessReady, and can take a game session
	ProcessDisconnected    Code = "SERVER_PROCESS_DISCONNECTED"        // the connection of a game server ended; it has a time to come back
	ProcessReconnected     Code = "SERVER_PROCESS_RECONNECTED"         // a game server came back
	ProcessTerminating     Code = "SERVER_PROCESS_TERMINATING"         // a game server was told to end
	ProcessEnded           Code = "SERVER_PROCESS_ENDED"               // a game server called ProcessEnding, or ended as it was told to
	GameSessionCreated     Code = "GAME_SESSION_CREATED"               // a game server was given a game session
	GameSessionActivated   Code = "GAME_SESSION_ACTIVATED"             // a game session is ready for players
	GameSessionUpdated     Code = "GAME_SESSION_UPDATED"               // a game session was changed
	GameSessionTerminating Code = "GAME_SESSION_TERMINATING"           // a game session was told to end
	GameSessionTerminated  Code = "GAME_SESSION_TERMINATED"            // a game session ended; the message says why
	PlayerSessionAccepted  Code = "PLAYER_SESSION_ACCEPTED"            // a game server let a player in
	PlayerSessionRemoved   Code = "PLAYER_SESSION_REMOVED"             // a player left a game session
	PlayerSessionTimedOut  Code = "PLAYER_SESSION_TIMED_OUT"           // a player did not come within 60 seconds of the reservation
	QueueCreated           Code = "QUEUE_CREATED"                      // a game session queue was created
	QueueUpdated           Code = "QUEUE_UPDATED"                      // a game session queue was changed
	QueueDeleted           Code = "QUEUE_DELETED"                      // a game session queue was deleted
	PlacementStarted       Code = "PLACEMENT_STARTED"                  // a placement was requested
	PlacementSent          Code = "PLACEMENT_SENT"                     // a placement was passed on to a remote
	PlacementLeft          Code = "PLACEMENT_LEFT"                     // a remote may have kept a game session that nobody uses
	PlacementRetried       Code = "PLACEMENT_RETRIED"                  // a game server did not take the game session, and the placement goes on
	PlacementFulfilled     Code = "PLACEMENT_FULFILLED"                // a placement has a game session
	PlacementCancelled     Code = "PLACEMENT_CANCELLED"                // a placement was stopped
	PlacementTimedOut      Code = "PLACEMENT_TIMED_OUT"                // a placement found no game server before its queue's timeout
	PlacementFailed        Code = "PLACEMENT_FAILED"                   // a placement could not go on; the message says why
	GameServerGroupCreated Code = "GAME_SERVER_GROUP_CREATED"          // a game server group was created
	GameServerGroupUpdated Code = "GAME_SERVER_GROUP_UPDATED"          // a game server group was changed
	GameServerGroupLeaving Code = "GAME_SERVER_GROUP_DELETE_SCHEDULED" // a game server group is being deleted
	GameServerGroupDeleted Code = "GAME_SERVER_GROUP_DELETED"          // a game server group was deleted
	GameServerRegistered   Code = "GAME_SERVER_REGISTERED"             // a game server was registered in a group
	GameServerClaimed      Code = "GAME_SERVER_CLAIMED"                // a game server was claimed
	GameServerClaimExpired Code = "GAME_SERVER_CLAIM_EXPIRED"          // a claimed game server was not used within a minute, and is free again
	GameServerUtilized     Code = "GAME_SERVER_UTILIZED"               // a game server reported that it hosts a game
	GameServerUnhealthy    Code = "GAME_SERVER_DEREGISTERED_UNHEALTHY" // a game server gave no sign of health, and was deregistered
	GameServerDeregistered Code = "GAME_SERVER_DEREGISTERED"           // a game server was deregistered
	BuildCreated           Code = "BUILD_CREATED"                      // a build was created
	BuildUpdated           Code = "BUILD_UPDATED"                      // a build was renamed
	BuildReady             Code = "BUILD_READY"                        // the files of a build are there and were checked
	BuildFailed            Code = "BUILD_FAILED"                       // the files of a build cannot be used; the message says why
	BuildDeleted           Code = "BUILD_DELETED"                      // a build was deleted
	ScriptCreated          Code = "SCRIPT_CREATED"                     // a script was created
	ScriptUpdated          Code = "SCRIPT_UPDATED"                     // a script was changed
	ScriptDeleted          Code = "SCRIPT_DELETED"                     // a script was deleted
	ContainerGroupCreated  Code = "CONTAINER_GROUP_DEFINITION_CREATED" // a container group definition was created
	ContainerGroupUpdated  Code = "CONTAINER_GROUP_DEFINITION_UPDATED" // a container group definition has a new version
	ContainerGroupReady    Code = "CONTAINER_GROUP_DEFINITION_READY"   // the images of a container group definition were found
	ContainerGroupFailed   Code = "CONTAINER_GROUP_DEFINITION_FAILED"  // an image of a container group definition was not found; the message names it
	ContainerGroupDeleted  Code = "CONTAINER_GROUP_DEFINITION_DELETED" // a container group definition was deleted
	RuleSetCreated         Code = "RULE_SET_CREATED"                   // a matchmaking rule set was created
	RuleSetDeleted         Code = "RULE_SET_DELETED"                   // a matchmaking rule set was deleted
	ConfigurationCreated   Code = "MATCHMAKING_CONFIGURATION_CREATED"  // a matchmaking configuration was created
	ConfigurationUpdated   Code = "MATCHMAKING_CONFIGURATION_UPDATED"  // a matchmaking configuration was changed
	ConfigurationDeleted   Code = "MATCHMAKING_CONFIGURATION_DELETED"  // a matchmaking configuration was deleted
	MatchmakingSearching   Code = "MATCHMAKING_SEARCHING"              // a ticket looks for a match
	PotentialMatchCreated  Code = "POTENTIAL_MATCH_CREATED"            // tickets fit together; players may have to accept
	MatchAnswered          Code = "MATCH_ANSWERED"                     // a player accepted or rejected a match
	MatchAcceptanceEnded   Code = "MATCH_ACCEPTANCE_ENDED"             // all players of a match answered, or the time for it ended
	MatchmakingSucceeded   Code = "MATCHMAKING_SUCCEEDED"              // a match has a game session, or was handed over without one
	MatchmakingTimedOut    Code = "MATCHMAKING_TIMED_OUT"              // a ticket was not matched in time
	MatchmakingCancelled   Code = "MATCHMAKING_CANCELLED"              // a ticket was stopped, or its player did not accept
	MatchmakingFailed      Code = "MATCHMAKING_FAILED"                 // a match found no game session; the message says why
	KeyCreated             Code = "ACCESS_KEY_CREATED"                 // an access key was made
	KeyDeleted             Code = "ACCESS_KEY_DELETED"                 // an access key was deleted
	KeyDisabled            Code = "ACCESS_KEY_DISABLED"                // an access key was disabled
	KeyEnabled             Code = "ACCESS_KEY_ENABLED"                 // an access key was enabled again
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
	PlayerCreated     Code = "PLAYER_CREATED"              // a player's account was created
	PlayerLinked      Code = "PLAYER_IDENTITY_LINKED"      // an account of a provider was linked to a player
	PlayerUnlinked    Code = "PLAYER_IDENTITY_UNLINKED"    // an account of a provider was unlinked
	PlayerMerged      Code = "PLAYER_MERGED"               // two players became one: Resource is the one kept, the message begins with the other
	PlayerTokenReused Code = "PLAYER_REFRESH_TOKEN_REUSED" // an old refresh token was used: its login was ended
	PlayerBanned      Code = "PLAYER_BANNED"               // a player was banned, or a ban was lifted
	PlayerDeleted     Code = "PLAYER_DELETED"              // a player's account was deleted
	PlayerKeyCreated  Code = "PLAYER_SIGNING_KEY_CREATED"  // a key for players' tokens was made; Resource is its id
)
