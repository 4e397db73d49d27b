package wire

// Push is what a process is told: an ActivateGameSession, UpdateGameSession or
// TerminateProcess.
type Push interface {
	event() string   // its name as an event of socket.io
	message() string // the name of its message
}

// GameSession is a game session as processes know it.
type GameSession struct {
	GameSessionID  string     `json:"gameSessionId"`
	FleetID        string     `json:"fleetId"`
	Name           string     `json:"name"`
	MaxPlayers     int        `json:"maxPlayers"`
	Properties     []Property `json:"gameProperties"`
	IPAddress      string     `json:"ipAddress"`
	Port           int        `json:"port"`
	Data           string     `json:"gameSessionData"`
	MatchmakerData string     `json:"matchmakerData"` // JSON text, or ""
	DNSName        string     `json:"dnsName"`
}

// Property is a game property.
type Property struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// ActivateGameSession tells a process to host a game session.
type ActivateGameSession struct {
	GameSession GameSession `json:"gameSession"`
}

// UpdateGameSession says how a backfill ended.
type UpdateGameSession struct {
	GameSession      GameSession `json:"gameSession"`
	Reason           string      `json:"updateReason"`
	BackfillTicketID string      `json:"backfillTicketId"`
}

// TerminateProcess tells a process to end. The time is in seconds since 1970 for Server
// SDK 3, and in milliseconds for Server SDK 4.
type TerminateProcess struct {
	TerminationTime int64 `json:"terminationTime"`
}

func (ActivateGameSession) event() string { return "StartGameSession" }
func (UpdateGameSession) event() string   { return "UpdateGameSession" }
func (TerminateProcess) event() string    { return "TerminateProcess" }

func (ActivateGameSession) message() string { return "ActivateGameSession" }
func (UpdateGameSession) message() string   { return "UpdateGameSession" }
func (TerminateProcess) message() string    { return "TerminateProcess" }

// Envelope returns a push as Server SDK 4 gets it: a protobuf Any in an envelope.
func Envelope(p Push) []byte {
	typed := `{"innerMessage":{"@type":"type.googleapis.com/` + Package + p.message() + `",`
	return append(append([]byte(typed), encode(p)[1:]...), '}') // no push is without members
}

// PlayerSession is a player session as processes know it. Times are in milliseconds since
// 1970.
type PlayerSession struct {
	PlayerSessionID string `json:"playerSessionId"`
	PlayerID        string `json:"playerId"`
	GameSessionID   string `json:"gameSessionId"`
	FleetID         string `json:"fleetId"`
	IPAddress       string `json:"ipAddress"`
	Status          string `json:"status"`
	CreationTime    int64  `json:"creationTime"`
	TerminationTime int64  `json:"terminationTime"`
	Port            int    `json:"port"`
	PlayerData      string `json:"playerData"`
	DNSName         string `json:"dnsName"`
}

// PlayerSessions is the answer to DescribePlayerSessions.
type PlayerSessions struct {
	NextToken      string          `json:"nextToken"` // "" at the end
	PlayerSessions []PlayerSession `json:"playerSessions"`
}

// Ticket is the answer to BackfillMatchmaking.
type Ticket struct {
	TicketID string `json:"ticketId"`
}

// Certificate is the answer to GetInstanceCertificate. The last two members are left out
// for SDKs that do not know them.
type Certificate struct {
	CertificatePath      string `json:"certificatePath"`
	CertificateChainPath string `json:"certificateChainPath"`
	PrivateKeyPath       string `json:"privateKeyPath"`
	HostName             string `json:"hostName,omitempty"`
	RootCertificatePath  string `json:"rootCertificatePath,omitempty"`
}

// The statuses of a Result.
const (
	OK          = "OK"
	BadRequest  = "ERROR_400"
	ServerError = "ERROR_500"
)

// Result is the answer to a request that has no other, and to one that failed.
type Result struct {
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// Encode returns the JSON form of an answer.
func Encode(answer any) []byte { return encode(answer) }
