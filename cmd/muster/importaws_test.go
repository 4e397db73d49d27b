package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/fxamacker/cbor/v2"

	"github.com/musterhq/muster/app"
	"github.com/musterhq/muster/test/node"
)

// A Muster that requires keys, and refuses some requests as AWS does under load, plays
// AWS. Its set-up has more resources than a page, and some that have no counterpart.
func TestImportAWS(t *testing.T) {
	data := ""
	account := node.InProcess(t, func(o *app.Options) { o.AcceptAny, data = false, o.DataDir })
	key, credentials := filepath.Join(data, "admin-credentials"), node.FirstKey(t, data)
	api := node.ClientAs(account.URL(), credentials.AccessKeyID, credentials.SecretAccessKey)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	for i := range 60 {
		must(api.CreateAlias(ctx, &gamelift.CreateAliasInput{
			Name: aws.String(fmt.Sprintf("alias %d", i)), RoutingStrategy: &types.RoutingStrategy{Type: types.RoutingStrategyTypeTerminal, Message: aws.String("closed")},
		}))
	}
	must(api.CreateGameSessionQueue(ctx, &gamelift.CreateGameSessionQueueInput{Name: aws.String("main"), NotificationTarget: aws.String("arn:aws:sns:us-east-1:000000000000:topic")}))
	must(api.CreateGameServerGroup(ctx, &gamelift.CreateGameServerGroupInput{
		GameServerGroupName: aws.String("group"), RoleArn: aws.String("arn:aws:iam::000000000000:role/r"), MinSize: aws.Int32(1), MaxSize: aws.Int32(1),
		LaunchTemplate:      &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("template")},
		InstanceDefinitions: []types.InstanceDefinition{{InstanceType: types.GameServerGroupInstanceTypeC5Large}, {InstanceType: types.GameServerGroupInstanceTypeC5Xlarge}},
	}))

	target, err := url.Parse(account.URL())
	if err != nil {
		t.Fatal(err)
	}
	refused, err := cbor.Marshal(map[string]string{"__type": "com.amazonaws.gamelift#ThrottlingException", "message": "Rate exceeded"})
	if err != nil {
		t.Fatal(err)
	}
	var requests, throttled atomic.Int64
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // which is signed
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%30 != 0 {
			forward.ServeHTTP(w, r)
			return
		}
		throttled.Add(1)
		w.Header().Set("Content-Type", "application/cbor")
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		w.WriteHeader(http.StatusBadRequest)
		w.Write(refused)
	}))
	defer front.Close()
	t.Setenv("AWS_ENDPOINT_URL_GAMELIFT", front.URL)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", key)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")

	file := filepath.Join(t.TempDir(), "muster.yaml")
	_, notes := done(t, "import", "aws", "--profile", "default", "--region", "us-east-1", "--out", file)
	for _, want := range []string{"queue main: its NotificationTarget arn:aws:sns:us-east-1:000000000000:topic", "game server group group"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, notes)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if throttled.Load() == 0 {
		t.Error("no request was throttled")
	}
	// The file stays if it is there, since it may have been edited.
	const edited = "Locations: {custom-lab: {}}\n"
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	before := requests.Load()
	again := []string{"import", "aws", "--profile", "default", "--region", "us-east-1", "--out", file}
	code, _, errs := typed(t, ctx, again...)
	if text, err := os.ReadFile(file); code != 1 || !strings.Contains(errs, file+" exists") || !strings.Contains(errs, "--overwrite") || err != nil || string(text) != edited || requests.Load() != before {
		t.Errorf("exit code %d, %d requests, %v\n%s\nthe file is\n%s", code, requests.Load()-before, err, errs, text)
	}
	done(t, append(again, "--overwrite")...)
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "main:") {
		t.Errorf("the file is\n%s\n%v", text, err)
	}
	own := node.InProcess(t, nil)
	done(t, "apply", "-f", file, "--yes", "--endpoint", own.URL())
	done(t, "apply", "-f", file, "--drift", "--endpoint", own.URL())
	queue, err := node.Client(own.URL()).DescribeGameSessionQueues(ctx, &gamelift.DescribeGameSessionQueuesInput{Names: []string{"main"}})
	if err != nil || aws.ToString(queue.GameSessionQueues[0].NotificationTarget) != "arn:aws:sns:us-east-1:000000000000:topic" {
		t.Errorf("the queue that came over: %+v, %v", queue, err)
	}
	there, err := node.Client(own.URL()).ListAliases(ctx, &gamelift.ListAliasesInput{Limit: aws.Int32(100)})
	if err != nil || len(there.Aliases) != 60 {
		t.Errorf("%d aliases came over, %v", len(there.Aliases), err)
	}
}
