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

// FinishGameSession ends the process's game session, after which the process may become
// ready for another one. Server SDK 5 does not have it; agents send it for processes with
// Server SDK 3 and 4.
const FinishGameSession Action = "FinishGameSession"

// ReportPlayers says how many players there are in the process's game session. Server SDK 5 does
// not have it; package wrap sends it for programs without an SDK.
const ReportPlayers Action = "ReportPlayers"

// The pushes of Muster.
const (
	CreateGameSession Action = "CreateGameSession"
	UpdateGameSession Action = "UpdateGameSession"
	TerminateProcess  Action = "TerminateProcess"
	RefreshConnection Action = "RefreshConnection"
)
