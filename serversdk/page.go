package serversdk

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/serversdk/protocol"
)

// nextToken returns the token for the next page of a DescribePlayerSessions. It is
// valid for the same query only.
func nextToken(in protocol.DescribePlayerSessionsRequest, last string) string {
	return base64.RawURLEncoding.EncodeToString(append(question(in), last...))
}

// tokenPlace returns the id after which a page begins. Errors: InvalidRequest.
func tokenPlace(in protocol.DescribePlayerSessionsRequest) (after string, err error) {
	if in.NextToken == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(in.NextToken)
	mark := string(question(in))
	if err != nil || !strings.HasPrefix(string(raw), mark) {
		return "", fault.Invalid("NextToken: was not given for this request")
	}
	return string(raw[len(mark):]), nil
}

// question returns a hash of the query, without the page size.
func question(in protocol.DescribePlayerSessionsRequest) []byte {
	sum := sha256.Sum256([]byte(strings.Join([]string{in.GameSessionID, in.PlayerSessionID, in.PlayerID, in.StatusFilter}, "\x00")))
	return sum[:8]
}
