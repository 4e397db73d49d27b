package awsrpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/smithy-go"

	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/door"
)

// keyring authenticates by signature, like a server that requires access keys.
type keyring struct{ *sigv4.Verifier }

func (k keyring) Authenticate(r *http.Request) (awsrpc.Principal, awsrpc.Proof, error) {
	claim, err := k.Claim(r, time.Now())
	if err != nil {
		return awsrpc.Principal{}, nil, err
	}
	return awsrpc.Principal{AccessKeyID: claim.Identity.AccessKeyID, Region: claim.Identity.Region}, claim.Body, nil
}

func newKeyring() keyring {
	return keyring{sigv4.New(sigv4.Options{Service: "gamelift", Lookup: func(id string) (sigv4.Secret, bool) {
		return sigv4.Secret{Key: "secret", SessionToken: "token"}, id == "AKIDTEST"
	}})}
}

// AWS's Go client is authenticated by its signature, and gets typed errors when it is
// refused.
func TestSDK_Signed(t *testing.T) {
	srv := newServer(t, awsrpc.Options{Authenticate: newKeyring()})
	var caller awsrpc.Principal
	awsrpc.Handle(srv, "CreateAlias", func(ctx context.Context, _ *gamelift.CreateAliasInput) (*gamelift.CreateAliasOutput, error) {
		caller = awsrpc.Caller(ctx)
		return nil, nil
	})
	web := httptest.NewServer(srv)
	defer web.Close()
	for _, c := range []struct{ id, secret, token, want string }{
		{"AKIDTEST", "secret", "token", ""},
		{"AKIDTEST", "wrong", "token", "InvalidSignatureException"},
		{"AKIDTEST", "secret", "", "UnrecognizedClientException"},
		{"AKIDOTHER", "secret", "token", "UnrecognizedClientException"},
	} {
		client := sdk.New(sdk.Options{
			Region: "eu-west-1", BaseEndpoint: aws.String(web.URL + "/"), Retryer: aws.NopRetryer{},
			Credentials: credentials.NewStaticCredentialsProvider(c.id, c.secret, c.token),
		})
		in := sdkInput(client, "CreateAlias").Interface().(*sdk.CreateAliasInput)
		in.RoutingStrategy.Type, in.RoutingStrategy.FleetId = "SIMPLE", aws.String("fleet-1")
		in.Tags = nil
		_, err := client.CreateAlias(context.Background(), in)
		got := ""
		if e, ok := errors.AsType[smithy.APIError](err); ok {
			got = e.ErrorCode()
		}
		if got != c.want || (got == "") != (err == nil) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	if want := (awsrpc.Principal{AccessKeyID: "AKIDTEST", Region: "eu-west-1"}); caller != want {
		t.Errorf("the handler saw %+v, want %+v", caller, want)
	}
}

// A body beyond the limit gets a response over a real connection, rather than a
// connection reset.
func TestServeHTTP_TooLargeOverTheWire(t *testing.T) {
	srv := newServer(t, awsrpc.Options{MaxBody: 1 << 20})
	web := httptest.NewServer(door.New(door.Options{}).Handler(srv))
	defer web.Close()
	for _, announced := range []bool{true, false} {
		r, _ := http.NewRequest("POST", web.URL, bytes.NewReader(make([]byte, 2<<20-1)))
		if !announced {
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(make([]byte, 2<<20-1))), -1
		}
		r.Header.Set("X-Amz-Target", "GameLift.CreateScript")
		res, err := web.Client().Do(r)
		if err != nil {
			t.Errorf("announced %v: %v", announced, err)
			continue
		}
		res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("announced %v: status %d", announced, res.StatusCode)
		}
	}
}

// BenchmarkHTTP measures a request of typical size over loopback, client included.
func BenchmarkHTTP(b *testing.B) {
	body := []byte(`{"GameSessionQueueName":"main-queue","PlacementId":"placement-1","MaximumPlayerSessionCount":10,` +
		`"GameProperties":[{"Key":"map","Value":"harbour"}],"DesiredPlayerSessions":[{"PlayerId":"a"},{"PlayerId":"b"}]}`)
	run := func(b *testing.B, o awsrpc.Options, sign bool) {
		srv := newServer(b, o)
		awsrpc.Handle(srv, "StartGameSessionPlacement", func(_ context.Context, in *gamelift.StartGameSessionPlacementInput) (*gamelift.StartGameSessionPlacementOutput, error) {
			return &gamelift.StartGameSessionPlacementOutput{GameSessionPlacement: &gamelift.GameSessionPlacement{
				PlacementId: in.PlacementId, GameSessionQueueName: in.GameSessionQueueName, GameProperties: in.GameProperties, Status: new("PENDING")}}, nil
		})
		web := httptest.NewServer(srv)
		defer web.Close()
		template, _ := http.NewRequest("POST", web.URL+"/", nil)
		template.ContentLength = int64(len(body))
		template.Header.Set("X-Amz-Target", "GameLift.StartGameSessionPlacement")
		if sign {
			creds := aws.Credentials{AccessKeyID: "AKIDTEST", SecretAccessKey: "secret", SessionToken: "token"}
			if err := v4.NewSigner().SignHTTP(b.Context(), creds, template, sigv4.HashPayload(body), "gamelift", "us-east-1", time.Now()); err != nil {
				b.Fatal(err)
			}
		}
		web.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 64
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				r := template.Clone(b.Context())
				r.Body = io.NopCloser(bytes.NewReader(body))
				res, err := web.Client().Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
					b.Errorf("status %d, %v", res.StatusCode, err)
				}
				res.Body.Close()
			}
		})
	}
	b.Run("anyone", func(b *testing.B) { run(b, awsrpc.Options{}, false) })
	b.Run("signed", func(b *testing.B) { run(b, awsrpc.Options{Authenticate: newKeyring()}, true) })
}
