package auth

// Kind says what an action does, for the audit log.
type Kind int

// The kinds of actions.
const (
	Changes Kind = iota
	Reads        // reads nothing secret
	Reveals      // reads what grants access, or the data of players
	Plays        // changes or reveals as part of the regular traffic of games
)

// The actions on files, with S3's names. They are for the audit log only: a caller is
// allowed them by ManageFiles, or by a signed URL.
const (
	GetObject    Action = "s3:GetObject"
	ListObjects  Action = "s3:ListObjects" // and anything else that only reads metadata
	PutObject    Action = "s3:PutObject"
	UploadPart   Action = "s3:UploadPart"
	DeleteObject Action = "s3:DeleteObject"
	NoFileAction Action = "s3:Unserved" // a request that is not served
)

// The actions of hosts, which authenticate with a token or a credential and have no
// role.
const (
	Join        Action = "muster:Join"        // become a host
	ConnectHost Action = "muster:ConnectHost" // connect as a host
)

// The actions of a remote shell besides OpenShell. They are for the audit log only.
const (
	BeginShell Action = "muster:BeginShell" // a program was asked for in an instance
	EndShell   Action = "muster:EndShell"   // it has ended, or was ended
)

// reveal are actions that read by their name, but return access or data written by
// games.
var reveal = set("GetComputeAccess", "GetComputeAuthToken", "GetInstanceAccess", "GetGameSessionLogUrl", "RequestUploadCredentials", ReadAudit, ReadLogs, ExportPlayers, GetObject)

// play are actions that games perform for each session and each player.
var play = set(
	"AcceptMatch", "ClaimGameServer", "CreateGameSession", "CreatePlayerSession", "CreatePlayerSessions",
	"DeregisterGameServer", "RegisterGameServer",
	"StartGameSessionPlacement", "StartMatchBackfill", "StartMatchmaking", "StopGameSessionPlacement", "StopMatchmaking",
	"UpdateGameServer", "UpdateGameSession", ReadPlayerSessionIDs, UploadPart,
)

// Kind returns the kind of an action by a caller with a role. Access to players' data
// is regular traffic for a game backend, but not for an operator.
func (a Action) Kind(r Role) Kind {
	switch {
	case play[a]:
		return Plays
	case a == ReadPlayerData || a == WritePlayerData:
		if r == Admin || r == Operator {
			return Reveals
		}
		return Plays
	case reveal[a]:
		return Reveals
	case a == ReadHosts || a == ReadKeys || a == ListObjects || a == UseConsole || a.reads():
		return Reads
	}
	return Changes
}
