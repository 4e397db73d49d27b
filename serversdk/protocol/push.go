package protocol

// CreateGameSessionPush tells a process to host a game session. Its name is in
// GameSessionName; the nested GameSession of an update has Name.
type CreateGameSessionPush struct {
	Action         Action            `json:"Action"`
	MaxPlayers     int               `json:"MaximumPlayerSessionCount"`
	Port           int               `json:"Port"`
	IPAddress      string            `json:"IpAddress"`
	GameSessionID  string            `json:"GameSessionId"`
	Name           string            `json:"GameSessionName"`
	Data           string            `json:"GameSessionData"`
	MatchmakerData string            `json:"MatchmakerData"` // JSON text, or ""
	DNSName        string            `json:"DnsName"`
	Properties     map[string]string `json:"GameProperties"`
}

// UpdateGameSessionPush reports a change of a game session.
type UpdateGameSessionPush struct {
	Action           Action      `json:"Action"`
	GameSession      GameSession `json:"GameSession"`
	UpdateReason     string      `json:"UpdateReason"`
	BackfillTicketID string      `json:"BackfillTicketId"`
}

// GameSession is a game session as contained in an update.
type GameSession struct {
	GameSessionID  string            `json:"GameSessionId"`
	Name           string            `json:"Name"`
	FleetID        string            `json:"FleetId"`
	Location       string            `json:"Location"`
	MaxPlayers     int               `json:"MaximumPlayerSessionCount"`
	IPAddress      string            `json:"IpAddress"`
	Port           int               `json:"Port"`
	DNSName        string            `json:"DnsName"`
	Data           string            `json:"GameSessionData"`
	MatchmakerData string            `json:"MatchmakerData"`
	Properties     map[string]string `json:"GameProperties"`
	Status         string            `json:"Status"`
	StatusReason   string            `json:"StatusReason"`
}

// TerminateProcessPush tells a process to end.
type TerminateProcessPush struct {
	Action          Action `json:"Action"`
	TerminationTime int64  `json:"TerminationTime"` // ms since 1970
}

// RefreshConnectionPush tells a process to connect anew, perhaps elsewhere.
type RefreshConnectionPush struct {
	Action    Action `json:"Action"`
	Endpoint  string `json:"RefreshConnectionEndpoint"`
	AuthToken string `json:"AuthToken"`
}
