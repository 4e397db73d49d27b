package aws

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/test/node"
)

// Builds and scripts are described, changed and deleted.
func TestBuilds(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), node.Client(node.InProcess(t, nil).URL())
	b := node.Must(c.CreateBuild(ctx, &gamelift.CreateBuildInput{OperatingSystem: types.OperatingSystemAmazonLinux2023}))(t).Build.BuildId
	node.Must(c.DescribeBuild(ctx, &gamelift.DescribeBuildInput{BuildId: b}))(t)
	node.Must(c.ListBuilds(ctx, &gamelift.ListBuildsInput{}))(t)
	node.Must(c.UpdateBuild(ctx, &gamelift.UpdateBuildInput{BuildId: b, Name: aws.String("n")}))(t)
	node.Must(c.DeleteBuild(ctx, &gamelift.DeleteBuildInput{BuildId: b}))(t)

	s := node.Must(c.CreateScript(ctx, &gamelift.CreateScriptInput{ZipFile: zipped(t, "main.js", "1")}))(t).Script.ScriptId
	node.Must(c.DescribeScript(ctx, &gamelift.DescribeScriptInput{ScriptId: s}))(t)
	node.Must(c.ListScripts(ctx, &gamelift.ListScriptsInput{}))(t)
	node.Must(c.UpdateScript(ctx, &gamelift.UpdateScriptInput{ScriptId: s, Name: aws.String("n")}))(t)
	node.Must(c.DeleteScript(ctx, &gamelift.DeleteScriptInput{ScriptId: s}))(t)
}

// The log of a game session is stored as by a host, and downloaded.
func TestLog(t *testing.T) {
	b := setup(t)
	g := b.active(t, b.Server(t), 2)
	log := zipped(t, "stdout", "hello")
	name := b.FleetID + "/" + b.ComputeName + "/" + path.Base(*g.GameSessionId) + ".zip"
	send(t, http.MethodPut, b.app.URL()+"/"+object.LogBucket+"/"+name, log, http.StatusOK)
	out := node.Must(b.Client.GetGameSessionLogUrl(t.Context(), &gamelift.GetGameSessionLogUrlInput{GameSessionId: g.GameSessionId}))(t)
	if got := send(t, http.MethodGet, *out.PreSignedUrl, nil, http.StatusOK); !bytes.Equal(got, log) {
		t.Errorf("the log comes back as %d bytes, want %d", len(got), len(log))
	}
	send(t, http.MethodGet, *out.PreSignedUrl+"0", nil, http.StatusForbidden)
	send(t, http.MethodDelete, *out.PreSignedUrl, nil, http.StatusForbidden)
}

// fetch sends a request without signing it, with the token of a player or none, and returns the
// response's status and body.
func fetch(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	r := node.Must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got := node.Must(http.DefaultClient.Do(r))(t)
	defer got.Body.Close()
	return got.StatusCode, string(node.Must(io.ReadAll(got.Body))(t))
}

// send is like fetch, and fails the test unless the response has a status.
func send(t *testing.T, method, url string, body []byte, want int) []byte {
	t.Helper()
	status, text := fetch(t, method, url, "", string(body))
	if status != want {
		t.Fatalf("%s %s: %d %s; want %d", method, url, status, text, want)
	}
	return []byte(text)
}

func zipped(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(w, content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
