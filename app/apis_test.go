package app_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/cli/client"
)

// autoScaling is what the responses of the Auto Scaling API are read into.
type autoScaling struct {
	Code   string   `xml:"Error>Code"`
	Groups []string `xml:"DescribeAutoScalingGroupsResult>AutoScalingGroups>member>AutoScalingGroupName"`
	Next   string   `xml:"DescribeAutoScalingGroupsResult>NextToken"`
}

// describeGroups sends DescribeAutoScalingGroups, signed by a client's key for a service; sent
// replaces the body after it was signed, unless it is "".
func describeGroups(t *testing.T, c *client.Client, sent string, parameters ...string) (out autoScaling) {
	t.Helper()
	form := url.Values{"Action": {"DescribeAutoScalingGroups"}, "Version": {"2011-01-01"}}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	body := form.Encode()
	if sent == "" {
		sent = body
	}
	q := must(http.NewRequestWithContext(t.Context(), http.MethodPost, c.Endpoint+"/", strings.NewReader(sent)))(t)
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	hash := sha256.Sum256([]byte(body))
	check(t, v4.NewSigner().SignHTTP(t.Context(), c.Credentials, q, hex.EncodeToString(hash[:]), "autoscaling", "us-east-1", time.Now()))
	back := must(http.DefaultClient.Do(q))(t)
	defer back.Body.Close()
	text, err := io.ReadAll(back.Body)
	if err == nil {
		err = xml.Unmarshal(text, &out)
	}
	if err != nil || (back.StatusCode == http.StatusOK) != (out.Code == "") {
		t.Fatalf("status %d, %v: %s", back.StatusCode, err, text)
	}
	return out
}

// The Auto Scaling API is served to those who may read game server groups, within their
// scope.
func TestAutoScaling_Callers(t *testing.T) {
	t.Parallel()
	a := start(t, func(o *app.Options) { o.AcceptAny = false })
	admin := firstKey(t, a)
	for _, name := range []string{"blue", "green", "red"} {
		group := map[string]any{
			"GameServerGroupName": name, "RoleArn": "arn:aws:iam::000000000000:role/r", "MinSize": 0, "MaxSize": 1,
			"LaunchTemplate":      map[string]string{"LaunchTemplateName": "unused"},
			"InstanceDefinitions": []map[string]string{{"InstanceType": "c5.large"}, {"InstanceType": "c5.xlarge"}},
		}
		check(t, admin.Call(t.Context(), "CreateGameServerGroup", group, nil))
	}
	reader := with(t, a, admin, client.KeySpec{Name: "reader", Role: "read-only"})
	scoped := with(t, a, admin, client.KeySpec{Name: "scoped", Role: "operator", Scope: client.KeyScope{Resources: []string{"arn:aws:gamelift:*:*:gameservergroup/red"}}})
	data := with(t, a, admin, client.KeySpec{Name: "data", Role: "player-data"})
	forger := &client.Client{Endpoint: a.URL(), Credentials: reader.Credentials}
	forger.Credentials.SecretAccessKey += "x"
	const named = "AutoScalingGroupNames.member.1"
	red, blue := "gamelift-gameservergroup-red", "gamelift-gameservergroup-blue"
	for _, c := range []struct {
		name       string
		by         *client.Client
		sent       string
		parameters []string
		code       string
		groups     string
	}{
		{"all", reader, "", nil, "", "gamelift-gameservergroup-blue gamelift-gameservergroup-green gamelift-gameservergroup-red"},
		{"by name", reader, "", []string{named, red, "AutoScalingGroupNames.member.2", "gamelift-gameservergroup-none", "AutoScalingGroupNames.member.3", "other"}, "", red},
		{"in scope", scoped, "", []string{named, red}, "", red},
		{"beyond the scope", scoped, "", []string{named, red, "AutoScalingGroupNames.member.2", blue}, "AccessDenied", ""},
		{"all with a scope", scoped, "", nil, "AccessDenied", ""},
		{"a role that reads none", data, "", []string{named, red}, "AccessDenied", ""},
		{"a wrong secret", forger, "", nil, "SignatureDoesNotMatch", ""},
		{"another body than the signed one", reader, "Action=DescribeAutoScalingGroups&Version=2011-01-01&MaxRecords=1", nil, "SignatureDoesNotMatch", ""},
		{"another action", reader, "", []string{"Action", "CreateAutoScalingGroup"}, "InvalidAction", ""},
		{"another action by a forger", forger, "", []string{"Action", "CreateAutoScalingGroup"}, "SignatureDoesNotMatch", ""},
	} {
		got := describeGroups(t, c.by, c.sent, c.parameters...)
		if got.Code != c.code || strings.Join(got.Groups, " ") != c.groups {
			t.Errorf("%s: %+v, want code %q and groups %q", c.name, got, c.code, c.groups)
		}
	}

	var paged []string
	for next := ""; ; {
		page := describeGroups(t, reader, "", "MaxRecords", "1", "NextToken", next)
		paged = append(paged, page.Groups...)
		if next = page.Next; next == "" || len(page.Groups) != 1 {
			break
		}
	}
	if len(paged) != 3 || paged[2] != red {
		t.Errorf("in pages of one: %v", paged)
	}
}

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
