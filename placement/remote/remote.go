package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"
	"golang.org/x/time/rate"

	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/placement"
	"github.com/musterhq/muster/session"
)

// Remote is a remote of a configuration. It implements placement.Remote.
type Remote struct {
	config Config
	api    *gamelift.Client
	pace   *rate.Limiter
	trust  *trust
}

var _ placement.Remote = (*Remote)(nil)

// mostConnections is the most connections to one remote.
const mostConnections = 64

func open(c Config, log *slog.Logger) *Remote {
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxConnsPerHost, t.MaxIdleConnsPerHost = mostConnections, mostConnections
		t.MaxResponseHeaderBytes = maxBody
		t.TLSClientConfig.RootCAs = c.roots
	}).GetTransport()
	client := &http.Client{
		Transport:     traced{bounded{newRenewed(&c, transport)}, c.Name},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a signed request is for one host
	}
	o := gamelift.Options{
		Region: c.Region, Credentials: aws.NewCredentialsCache(&c), HTTPClient: client,
		Retryer: aws.NopRetryer{}, // what may be repeated, and when, is the caller's business
		AppID:   "muster",
	}
	if c.Endpoint != "" {
		o.BaseEndpoint = &c.Endpoint
	}
	return &Remote{config: c, api: gamelift.New(o), pace: rate.NewLimiter(rate.Limit(c.RequestsPerSecond), int(max(1, c.RequestsPerSecond))), trust: &trust{config: &c, log: log}}
}

// Name implements placement.Remote.
func (r *Remote) Name() string { return r.config.Name }

// Poll implements placement.Remote.
func (r *Remote) Poll() time.Duration { return r.config.Poll }

// Has implements placement.Remote.
func (r *Remote) Has(destination string) bool {
	region, account := arn.Owner(destination)
	return region == r.config.Region && (account == r.config.Account || account == "" && arn.Kind(destination) == "alias")
}

// call waits until a request may be sent, sends it and returns its error in the terms of
// package placement.
func call[I, O any](ctx context.Context, r *Remote, do func(context.Context, *I, ...func(*gamelift.Options)) (*O, error), in *I) (*O, error) {
	if err := r.pace.Wait(ctx); err != nil {
		return nil, &placement.Refusal{Kind: placement.Throttled, Message: "the limit of requests_per_second is reached"}
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	out, err := do(ctx, in)
	if distrusted := r.trust.note(err); distrusted != nil {
		return nil, distrusted
	}
	return out, answerOf(err)
}

// kinds are the refusals behind the codes of the API. Any other code of a 4xx answer is a
// refusal too.
var kinds = map[string]placement.RefusalKind{
	"FleetCapacityExceededException":       placement.Full,
	"GameSessionFullException":             placement.Full,
	"LimitExceededException":               placement.Full,
	"NotFoundException":                    placement.Missing,
	"InvalidFleetStatusException":          placement.WrongStatus,
	"InvalidGameSessionStatusException":    placement.WrongStatus,
	"TerminalRoutingStrategyException":     placement.WrongStatus,
	"ThrottlingException":                  placement.Throttled,
	"TooManyRequestsException":             placement.Throttled,
	"RequestLimitExceeded":                 placement.Throttled,
	"Throttling":                           placement.Throttled,
	"IdempotentParameterMismatchException": placement.Refused,
	"UnauthorizedException":                placement.Denied,
	"AccessDeniedException":                placement.Denied,
	"AccessDenied":                         placement.Denied,
	"NotAuthorized":                        placement.Denied,
	"UnrecognizedClientException":          placement.Denied,
	"InvalidClientTokenId":                 placement.Denied,
	"InvalidSignatureException":            placement.Denied,
	"SignatureDoesNotMatch":                placement.Denied,
	"IncompleteSignature":                  placement.Denied,
	"MissingAuthenticationToken":           placement.Denied,
	"MissingAuthenticationTokenException":  placement.Denied,
	"ExpiredToken":                         placement.Denied,
	"ExpiredTokenException":                placement.Denied,
	"RequestExpired":                       placement.Denied,
	"OptInRequired":                        placement.Denied,
}

// answerOf returns a *placement.Refusal if an error says that nothing was done.
func answerOf(err error) error {
	if err == nil {
		return nil
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return &placement.Refusal{Kind: placement.Unreachable, Message: "no connection: " + failed.Err.Error()}
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return &placement.Refusal{Kind: placement.Unreachable, Message: "no connection: " + err.Error()}
	}
	response, answered := errors.AsType[*awshttp.ResponseError](err)
	if !answered {
		return short(err)
	}
	status := response.HTTPStatusCode()
	if to := response.Response.Header.Get("Location"); status >= 300 && status < 400 {
		return &placement.Refusal{Kind: placement.Denied, Message: cut(fmt.Sprintf("endpoint: it answers with a redirect to %q, which is not followed; set the address that answers itself", to))}
	}
	code, message := strconv.Itoa(status), response.Error()
	if named, ok := errors.AsType[smithy.APIError](err); ok {
		// In CBOR the client leaves the namespace of the API before codes that it does not know.
		code = named.ErrorCode()[strings.LastIndexByte(named.ErrorCode(), '#')+1:]
		message = code + ": " + named.ErrorMessage()
	}
	kind, known := kinds[code]
	switch {
	case status == http.StatusTooManyRequests:
		kind = placement.Throttled
	case status < 400 || status >= 500 || status == http.StatusRequestTimeout:
		return short(err)
	case !known && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		kind = placement.Denied
	case !known:
		kind = placement.Refused
	}
	return &placement.Refusal{Kind: kind, Message: cut(message)}
}

// Create implements placement.Remote.
func (r *Remote) Create(ctx context.Context, at placement.Place, token string, want *placement.Request) (placement.RemoteSession, error) {
	in := &gamelift.CreateGameSessionInput{
		FleetId: &at.FleetID, Location: &at.Location, IdempotencyToken: &token, MaximumPlayerSessionCount: aws.Int32(int32(want.MaxPlayers)),
		Name: optional(want.Name), GameSessionData: optional(want.Data),
	}
	if r.config.SendMatchmakerData && in.GameSessionData == nil {
		in.GameSessionData = optional(want.MatchmakerData)
	}
	for _, p := range want.Properties {
		in.GameProperties = append(in.GameProperties, types.GameProperty{Key: aws.String(p.Key), Value: aws.String(p.Value)})
	}
	out, err := call(ctx, r, r.api.CreateGameSession, in)
	if err != nil {
		return placement.RemoteSession{}, err
	}
	made, err := sessionOf(out.GameSession)
	if err == nil && arn.SessionFleet(made.ID) != at.FleetID {
		return made, &placement.Refusal{Kind: placement.Refused, Message: fmt.Sprintf("the answer names game session %q, which is of another fleet than %s", made.ID, at.FleetID)}
	}
	return made, err
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// maxText bounds the id, the address and the DNS name of a game session, in bytes (API
// reference, GameSession: an id has at most 256 characters).
const maxText = 256

// isText reports whether what a remote names can be kept.
func isText(s string) bool { return s != "" && len(s) <= maxText && utf8.ValidString(s) }

func sessionOf(g *types.GameSession) (placement.RemoteSession, error) {
	if g == nil || aws.ToString(g.GameSessionId) == "" {
		return placement.RemoteSession{}, errors.New("the answer has no game session")
	}
	for _, text := range []*string{g.GameSessionId, g.IpAddress, g.DnsName, (*string)(&g.Status)} {
		if text != nil && *text != "" && !isText(*text) {
			return placement.RemoteSession{}, &placement.Refusal{Kind: placement.Refused, Message: "the answer has a game session whose id or address is too long, or no text"}
		}
	}
	return placement.RemoteSession{
		ID: *g.GameSessionId, Status: session.Status(g.Status), IPAddress: aws.ToString(g.IpAddress), DNSName: aws.ToString(g.DnsName), Port: int(aws.ToInt32(g.Port)),
	}, nil
}

// Find implements placement.Remote. The id of a game session ends with its token (API
// reference, CreateGameSession).
func (r *Remote) Find(ctx context.Context, at placement.Place, token string) (placement.RemoteSession, error) {
	return r.Describe(ctx, arn.Home{Region: r.config.Region}.OfSession(at.FleetID, at.Location, token))
}

// Describe implements placement.Remote.
func (r *Remote) Describe(ctx context.Context, id string) (placement.RemoteSession, error) {
	out, err := call(ctx, r, r.api.DescribeGameSessions, &gamelift.DescribeGameSessionsInput{GameSessionId: &id})
	if err != nil {
		return placement.RemoteSession{}, err
	}
	if len(out.GameSessions) == 0 {
		return placement.RemoteSession{}, &placement.Refusal{Kind: placement.Missing, Message: "there is no game session " + id}
	}
	return sessionOf(&out.GameSessions[0])
}

// Reserve implements placement.Remote.
func (r *Remote) Reserve(ctx context.Context, id string, players []session.Joining) ([]placement.Placed, error) {
	in := &gamelift.CreatePlayerSessionsInput{GameSessionId: &id}
	for _, p := range players {
		in.PlayerIds = append(in.PlayerIds, p.PlayerID)
		if p.Data != "" {
			if in.PlayerDataMap == nil {
				in.PlayerDataMap = map[string]string{}
			}
			in.PlayerDataMap[p.PlayerID] = p.Data
		}
	}
	out, err := call(ctx, r, r.api.CreatePlayerSessions, in)
	if err != nil {
		return nil, err
	}
	made := placedIn(nil, out.PlayerSessions)
	if len(made) != len(players) {
		return nil, fmt.Errorf("the answer has %d player sessions for %d players", len(made), len(players))
	}
	return made, nil
}

// placedIn appends the player sessions that have a slot.
func placedIn(placed []placement.Placed, all []types.PlayerSession) []placement.Placed {
	for _, p := range all {
		if p.Status != types.PlayerSessionStatusTimedout && isText(aws.ToString(p.PlayerSessionId)) {
			placed = append(placed, placement.Placed{PlayerID: aws.ToString(p.PlayerId), PlayerSessionID: aws.ToString(p.PlayerSessionId)})
		}
	}
	return placed
}

// Reserved implements placement.Remote.
func (r *Remote) Reserved(ctx context.Context, id string) ([]placement.Placed, error) {
	var all []placement.Placed
	in := &gamelift.DescribePlayerSessionsInput{GameSessionId: &id, Limit: aws.Int32(100)}
	err := pages(func() (*string, error) {
		out, err := call(ctx, r, r.api.DescribePlayerSessions, in)
		if err != nil {
			return nil, err
		}
		all, in.NextToken = placedIn(all, out.PlayerSessions), out.NextToken
		return out.NextToken, nil
	})
	return all, err
}

// Terminate implements placement.Remote. A process on a compute of an Anywhere fleet cannot
// be forced, only told to end.
func (r *Remote) Terminate(ctx context.Context, id string) error {
	for _, mode := range []types.TerminationMode{types.TerminationModeForceTerminate, types.TerminationModeTriggerOnProcessTerminate} {
		_, err := call(ctx, r, r.api.TerminateGameSession, &gamelift.TerminateGameSessionInput{GameSessionId: &id, TerminationMode: mode})
		if no := placement.RefusalOf(err); no == nil || no.Kind != placement.Refused || mode == types.TerminationModeTriggerOnProcessTerminate {
			return err
		}
	}
	return nil
}
