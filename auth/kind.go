package auth

// Kind says what an action does, for the audit.
type Kind int

// The kinds of actions.
const (
	Changes Kind = iota
	Reads        // nothing that is secret
	Reveals      // reads what gives access, or what is kept of players
	Plays        // changes, or reveals, what games do by themselves all the time
)

// The actions of files, in the words of S3. They are for the audit: what lets a
// caller take them is ManageFiles, or a signed URL.
const (
	GetObject    Action = "s3:GetObject"
	ListObjects  Action = "s3:ListObjects" // and whatever else only tells of objects
	PutObject    Action = "s3:PutObject"
	UploadPart   Action = "s3:UploadPart"
	DeleteObject Action = "s3:DeleteObject"
)

// The actions of hosts, which show a token or a credential and have no role.
const (
	Join        Action = "muster:Join"        // become a host
	ConnectHost Action = "muster:ConnectHost" // connect as one
)

// reveal are operations that read in name and hand out access or what was written
// by games.
var reveal = set("GetComputeAccess", "GetComputeAuthToken", "GetInstanceAccess", "GetGameSessionLogUrl", "RequestUploadCredentials", ReadAudit, GetObject)

// play are operations that games call for each session and each player.
var play = set(
	"AcceptMatch", "ClaimGameServer", "CreateGameSession", "CreatePlayerSession", "CreatePlayerSessions",
	"StartGameSessionPlacement", "StartMatchBackfill", "StartMatchmaking", "StopGameSessionPlacement", "StopMatchmaking",
	"UpdateGameServer", "UpdateGameSession", ReadPlayerSessionIDs, UploadPart,
)

// Kind returns the kind of an action that a caller of a role takes: what a game
// backend does with players' data all the time is an exception for an operator.
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
	case a == ReadHosts || a == ListObjects || a.reads():
		return Reads
	}
	return Changes
}
