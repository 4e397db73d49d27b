package auth

import "strings"

// Action is what a caller wants to do: the name of an operation of the API, or one of
// the constants below.
type Action string

// The actions that are not operations of the API.
const (
	JoinHost             Action = "muster:JoinHost"             // create tokens with which machines join
	ReadHosts            Action = "muster:ReadHosts"            // show the machines, their addresses and load
	ManageHosts          Action = "muster:ManageHosts"          // drain, resume and remove machines, replace their credentials
	ReadKeys             Action = "muster:ReadKeys"             // show access keys, and who is logged in to the console
	ManageKeys           Action = "muster:ManageKeys"           // create and change access keys
	EndLogins            Action = "muster:EndLogins"            // end logins of others to the console
	ReadAudit            Action = "muster:ReadAudit"            // read the audit log
	ConnectGameServer    Action = "muster:ConnectGameServer"    // connect game server processes with a signature (SigV4)
	ManageFiles          Action = "muster:ManageFiles"          // read and write objects in buckets
	ReadPlayerSessionIDs Action = "muster:ReadPlayerSessionIds" // see the ids with which game servers accept players
	ReadPlayerData       Action = "muster:ReadPlayerData"       // read the stored data of players, in every namespace
	WritePlayerData      Action = "muster:WritePlayerData"      // change the stored data of players
	ReadLogs             Action = "muster:ReadLogs"             // read what running game servers write
	BanPlayer            Action = "muster:BanPlayer"            // ban players
	ExportPlayers        Action = "muster:ExportPlayers"        // read all accounts of players, to move them to another deployment
	ImportPlayers        Action = "muster:ImportPlayers"        // add accounts of players from another deployment
	LogIn                Action = "muster:LogIn"                // log in to the console; every role may, like the next two
	LogOut               Action = "muster:LogOut"               // log out of it
	UseConsole           Action = "muster:UseConsole"           // see who one is, the API's operations, and search
	OpenShell            Action = "muster:OpenShell"            // open a shell with the credentials of GetComputeAccess
)

// backendActions are the actions that a game backend needs besides reading.
var backendActions = set(
	"AcceptMatch", "ClaimGameServer", "CreateGameSession", "CreatePlayerSession", "CreatePlayerSessions",
	"StartGameSessionPlacement", "StartMatchBackfill", "StartMatchmaking",
	"StopGameSessionPlacement", "StopMatchmaking", "TerminateGameSession", "UpdateGameSession",
	ReadHosts, ReadLogs, ReadPlayerSessionIDs, ReadPlayerData, WritePlayerData, BanPlayer,
)

// serverActions are the actions that a game server or its wrapper needs.
var serverActions = set(
	"DeregisterCompute", "DescribeCompute", "DescribeRuntimeConfiguration",
	"GetComputeAuthToken", "ListCompute", "RegisterCompute",
	"DeregisterGameServer", "DescribeGameServer", "DescribeGameServerGroup", "DescribeGameServerInstances",
	"RegisterGameServer", "UpdateGameServer",
	ConnectGameServer,
)

// adminActions are the actions about those who may call, and about all players at once.
var adminActions = set(ReadKeys, ManageKeys, EndLogins, ReadAudit, ExportPlayers, ImportPlayers)

// shellActions are the actions that let people onto the machines of game servers.
var shellActions = set("GetComputeAccess", "GetInstanceAccess", OpenShell)

// giveAccess are operations that read by their name, but grant access.
var giveAccess = set("GetComputeAccess", "GetComputeAuthToken", "GetInstanceAccess")

// connects are operations that read, but whose only purpose is access to something: a
// game server, or a file.
var connects = set("GetGameSessionLogUrl", "GetPlayerConnectionDetails")

func set(actions ...Action) map[Action]bool {
	in := make(map[Action]bool, len(actions))
	for _, a := range actions {
		in[a] = true
	}
	return in
}

// reads reports whether the action is an operation that only reads.
func (a Action) reads() bool {
	if giveAccess[a] {
		return false
	}
	for _, verb := range []string{"Describe", "Get", "List", "Resolve", "Search", "Validate"} {
		if strings.HasPrefix(string(a), verb) {
			return true
		}
	}
	return false
}
