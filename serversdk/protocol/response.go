package protocol

// StatusOK is the StatusCode of success; the SDKs take every other for an error.
const StatusOK = 200

// Response is the start of every answer, and most answers have nothing else.
type Response struct {
	Action     Action `json:"Action"`
	RequestID  string `json:"RequestId"`
	StatusCode int    `json:"StatusCode"`
}

// ErrorResponse refuses a request.
type ErrorResponse struct {
	Response
	ErrorMessage string `json:"ErrorMessage"`
}

// DescribePlayerSessionsResponse is one page of player sessions.
type DescribePlayerSessionsResponse struct {
	Response
	NextToken      string          `json:"NextToken"` // "" at the end
	PlayerSessions []PlayerSession `json:"PlayerSessions"`
}

// PlayerSession is a slot of a game session.
type PlayerSession struct {
	PlayerID        string `json:"PlayerId"`
	PlayerSessionID string `json:"PlayerSessionId"`
	GameSessionID   string `json:"GameSessionId"`
	FleetID         string `json:"FleetId"`
	PlayerData      string `json:"PlayerData"`
	IPAddress       string `json:"IpAddress"`
	Port            int    `json:"Port"`
	CreationTime    int64  `json:"CreationTime"`    // ms since 1970
	TerminationTime int64  `json:"TerminationTime"` // ms since 1970; 0 while it runs
	DNSName         string `json:"DnsName"`
	Status          string `json:"Status"`
}

// StartMatchBackfillResponse names the ticket that was created.
type StartMatchBackfillResponse struct {
	Response
	TicketID string `json:"TicketId"`
}

// GetComputeCertificateResponse says where the compute's TLS certificate is.
type GetComputeCertificateResponse struct {
	Response
	CertificatePath string `json:"CertificatePath"`
	ComputeName     string `json:"ComputeName"`
}

// GetFleetRoleCredentialsResponse contains credentials. If all members are empty the
// fleet has no role, and the SDKs remember that.
type GetFleetRoleCredentialsResponse struct {
	Response
	AssumedRoleUserARN string `json:"AssumedRoleUserArn"`
	AssumedRoleID      string `json:"AssumedRoleId"`
	AccessKeyID        string `json:"AccessKeyId"`
	SecretAccessKey    string `json:"SecretAccessKey"`
	SessionToken       string `json:"SessionToken"`
	Expiration         int64  `json:"Expiration"` // ms since 1970
}
