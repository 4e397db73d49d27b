package protocol

// Action names a request or a push.
type Action string

// The requests of processes. There are no others in Server SDK 5.
const (
	ActivateServerProcess             Action = "ActivateServerProcess"
	HeartbeatServerProcess            Action = "HeartbeatServerProcess"
	TerminateServerProcess            Action = "TerminateServerProcess"
	ActivateGameSession               Action = "ActivateGameSession"
	UpdatePlayerSessionCreationPolicy Action = "UpdatePlayerSessionCreationPolicy"
	AcceptPlayerSession               Action = "AcceptPlayerSession"
	RemovePlayerSession               Action = "RemovePlayerSession"
	DescribePlayerSessions            Action = "DescribePlayerSessions"
	StartMatchBackfill                Action = "StartMatchBackfill"
	StopMatchBackfill                 Action = "StopMatchBackfill"
	GetComputeCertificate             Action = "GetComputeCertificate"
	GetFleetRoleCredentials           Action = "GetFleetRoleCredentials"
)

// The pushes of Muster.
const (
	CreateGameSession Action = "CreateGameSession"
	UpdateGameSession Action = "UpdateGameSession"
	TerminateProcess  Action = "TerminateProcess"
	RefreshConnection Action = "RefreshConnection"
)
