package app_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
)

// AWS's client learns whose key it has, whatever the key may do, and a sender who has no valid
// key learns nothing.
func TestSTS(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny = false })
	admin := firstKey(t, a)
	data := with(t, a, admin, client.KeySpec{Name: "data", Role: "player-data"})
	forger := &client.Client{Credentials: data.Credentials}
	forger.Credentials.SecretAccessKey += "x"
	stranger := &client.Client{Credentials: client.Credentials{AccessKeyID: "AKIANONE", SecretAccessKey: "x"}}
	of := func(c *client.Client) *sts.Client {
		return sts.New(sts.Options{Region: "us-east-1", BaseEndpoint: aws.String(a.URL()), Credentials: credentials.StaticCredentialsProvider{Value: c.Credentials}, Retryer: aws.NopRetryer{}})
	}

	got := must(of(data).GetCallerIdentity(t.Context(), nil))(t)
	if *got.Account != app.DefaultAccount || *got.Arn != "arn:aws:iam::000000000000:user/data" || *got.UserId != data.Credentials.AccessKeyID {
		t.Errorf("it is %s, %s, %s", *got.Account, *got.Arn, *got.UserId)
	}
	for want, c := range map[string]*client.Client{"SignatureDoesNotMatch": forger, "InvalidClientTokenId": stranger} {
		_, err := of(c).GetCallerIdentity(t.Context(), nil)
		if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	_, err := of(data).GetSessionToken(t.Context(), nil)
	if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != "InvalidAction" {
		t.Errorf("GetSessionToken: %v", err)
	}
}
