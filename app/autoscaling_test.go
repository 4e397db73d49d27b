package app_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

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
