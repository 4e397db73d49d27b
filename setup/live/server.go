package live

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/internal/wake"
	"github.com/musterhq/muster/setup"
)

// Server is a server whose set-up is changed.
type Server struct {
	API      *gamelift.Client
	Endpoint string            // base URL, for files
	Region   string            // of signatures
	HTTP     *http.Client      // for files; nil means http.DefaultClient
	Keys     aws.Credentials   // for reading the archives of builds
	Tell     func(text string) // is called with each step; may be nil
	// Working is called often while something takes its time; text says how far it is. May be nil.
	Working Working
	// Reasons returns why something of a fleet is pending, by location, as 'muster fleets' shows it.
	// May be nil, and return nil: then the events of the fleet have to do.
	Reasons  func(ctx context.Context, fleetID string) map[string]string
	Patience time.Duration // how long to wait for one thing, such as a fleet to be ACTIVE; 0 means 20 minutes
	Every    time.Duration // how often to look while waiting; 0 means a second
	Crashing time.Duration // how long game servers may crash before a deployment of them fails; 0 means 30 seconds

	turn *sync.Mutex // held by what does something, and not by what waits; nil if there is only one
}

func (s *Server) tell(format string, args ...any) {
	if s.Tell != nil {
		s.Tell(fmt.Sprintf(format, args...))
	}
}

func (s *Server) working(format string, args func() []any) {
	s.Working.show(format, args)
}

// throttled are the codes with which a server refuses to look at a request for now. In CBOR the
// client leaves the namespace of the API before them.
func throttled() map[string]struct{} {
	codes := maps.Clone(retry.DefaultThrottleErrorCodes)
	for code := range retry.DefaultThrottleErrorCodes {
		codes["com.amazonaws.gamelift#"+code] = struct{}{}
	}
	return codes
}

// Patiently is an option of clients: what a server refuses for now is asked again, more often
// and for longer than by default. An account answers a few requests a second for each operation.
func Patiently(o *gamelift.Options) {
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.MaxAttempts = 12
		s.RateLimiter = ratelimit.None
		s.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(untrusted), retry.RetryableErrorCode{Codes: throttled()}}, s.Retryables...)
	})
}

// untrusted says that a certificate which is not trusted will not be the next time either.
func untrusted(err error) aws.Ternary {
	var wrong *tls.CertificateVerificationError
	if errors.As(err, &wrong) {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}

// once is for operations that create something each time they are called: they are repeated
// only if the server refused to look at the request.
func once(o *gamelift.Options) {
	o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
		s.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: throttled()}}
	})
}

// errPatience is the cause of a wait that took too long.
var errPatience = errors.New("waited long enough")

// wait calls look until it reports that it is done. Its news goes to Tell when it changes,
// and into the error if the wait takes too long. The news may end with details in parentheses,
// which are told once, whatever numbers in them change. Its progress has all of it.
func (s *Server) wait(ctx context.Context, what string, look func(context.Context) (done bool, news string, err error)) error {
	patience, every := s.Patience, s.Every
	if patience == 0 {
		patience = 20 * time.Minute
	}
	if every == 0 {
		every = time.Second
	}
	ctx, stop := context.WithTimeoutCause(ctx, patience, errPatience)
	defer stop()
	last, told, begun := "", "", time.Now()
	for {
		done, news, err := look(ctx)
		if errors.Is(context.Cause(ctx), errPatience) {
			return fmt.Errorf("%s: not done after %s: %s. Nothing is undone: run the command again, and it goes on from here", what, patience, last)
		}
		if err != nil || done {
			return err
		}
		last = cmp.Or(news, last)
		status, details, _ := strings.Cut(last, " (")
		if now := status + " " + withoutNumbers(details); now != told && last != "" {
			s.tell("%s: %s", what, last)
			told = now
		}
		s.working("%s, after %s: %s", func() []any { return []any{what, time.Since(begun).Round(time.Second), cmp.Or(last, "waiting")} })
		if s.turn != nil {
			s.turn.Unlock()
		}
		slept := wake.Sleep(ctx, every)
		if s.turn != nil {
			s.turn.Lock()
		}
		if !slept && !errors.Is(context.Cause(ctx), errPatience) {
			return ctx.Err()
		}
	}
}

// withoutNumbers returns text without its digits.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}

// tagsOf returns tags as the API takes them.
func tagsOf(tags setup.Tags, more ...string) []types.Tag {
	var all []types.Tag
	for k, v := range tags {
		all = append(all, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			all = append(all, types.Tag{Key: aws.String(more[i]), Value: aws.String(more[i+1])})
		}
	}
	return all
}
