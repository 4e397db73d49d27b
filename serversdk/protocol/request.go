package protocol

// Head holds the members that every request has.
type Head struct {
	Action    Action `json:"Action"`
	RequestID string `json:"RequestId"`
}

// ActivateServerProcessRequest is ProcessReady: the process can host a game session.
type ActivateServerProcessRequest struct {
	SDKVersion     string   `json:"SdkVersion"`
	SDKLanguage    string   `json:"SdkLanguage"`
	SDKToolName    string   `json:"SdkToolName"`
	SDKToolVersion string   `json:"SdkToolVersion"`
	Port           int      `json:"Port"`
	LogPaths       []string `json:"LogPaths"`
}

// HeartbeatServerProcessRequest reports the process's health, about once a minute.
type HeartbeatServerProcessRequest struct {
	HealthStatus bool `json:"HealthStatus"`
}

// ActivateGameSessionRequest says that the game session accepts players now.
type ActivateGameSessionRequest struct {
	GameSessionID string `json:"GameSessionId"`
}

// FinishGameSessionRequest ends a game session; "" means the one that the process hosts,
// if any.
type FinishGameSessionRequest struct {
	GameSessionID string `json:"GameSessionId"`
}

// TerminateServerProcessRequest is ProcessEnding. Server SDK 5 has no members.
type TerminateServerProcessRequest struct {
	Crash string `json:"Crash"` // how its program crashed, from package wrap; "" if it did not
}

// ReportPlayersRequest says how many players there are.
type ReportPlayersRequest struct {
	GameSessionID string `json:"GameSessionId"`
	Players       int    `json:"Players"`
}

// UpdatePlayerSessionCreationPolicyRequest opens or closes a game session to new players.
type UpdatePlayerSessionCreationPolicyRequest struct {
	GameSessionID string `json:"GameSessionId"`
	Policy        string `json:"PlayerSessionPolicy"` // ACCEPT_ALL or DENY_ALL
}

// PlayerSessionRequest is AcceptPlayerSession and RemovePlayerSession.
type PlayerSessionRequest struct {
	GameSessionID   string `json:"GameSessionId"`
	PlayerSessionID string `json:"PlayerSessionId"`
}

// DescribePlayerSessionsRequest requests player sessions by exactly one of its first
// three members.
type DescribePlayerSessionsRequest struct {
	GameSessionID   string `json:"GameSessionId"`
	PlayerSessionID string `json:"PlayerSessionId"`
	PlayerID        string `json:"PlayerId"`
	StatusFilter    string `json:"PlayerSessionStatusFilter"`
	NextToken       string `json:"NextToken"`
	Limit           int    `json:"Limit"`
}

// MatchBackfillRequest is StartMatchBackfill and, without players, StopMatchBackfill.
type MatchBackfillRequest struct {
	GameSessionARN string   `json:"GameSessionArn"`
	MatchmakingARN string   `json:"MatchmakingConfigurationArn"`
	TicketID       string   `json:"TicketId"`
	Players        []Player `json:"Players"`
	// Repeatable is not part of Server SDK 5: a StartMatchBackfill succeeds, and changes
	// nothing, if the game session has or had a backfill with this TicketId.
	Repeatable bool `json:"Repeatable"`
}

// Player is one player of a backfill.
type Player struct {
	PlayerID   string                    `json:"PlayerId"`
	Team       string                    `json:"Team"`
	Attributes map[string]AttributeValue `json:"PlayerAttributes"`
	LatencyMS  map[string]int            `json:"LatencyInMs"` // by region
}

// AttributeValue is a player attribute; AttrType says which other member is used.
type AttributeValue struct {
	AttrType string             `json:"AttrType"` // STRING, DOUBLE, STRING_LIST, STRING_DOUBLE_MAP or NONE
	S        string             `json:"S"`
	N        float64            `json:"N"`
	SL       []string           `json:"SL"`
	SDM      map[string]float64 `json:"SDM"`
}

// GetFleetRoleCredentialsRequest requests the credentials of a fleet's role.
type GetFleetRoleCredentialsRequest struct {
	RoleARN         string `json:"RoleArn"`
	RoleSessionName string `json:"RoleSessionName"`
}
