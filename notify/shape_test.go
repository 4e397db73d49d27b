package notify_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

var update = flag.Bool("update", false, "write the files of testdata from what is delivered")

// fulfilled returns a placement event with everything that the developer guide lists.
func fulfilled(target string) event.Notice {
	return event.Notice{
		DetailType: "GameLift Queue Placement Event", Source: queueARN, Target: target,
		Detail: jsontext.Value(`{"type":"PlacementFulfilled","placementId":"p-1","port":"33435",` +
			`"gameSessionArn":"arn:aws:gamelift:us-east-1::gamesession/fleet-1/p-1","ipAddress":"192.0.2.7","dnsName":"host7.example",` +
			`"startTime":"2000-01-01T00:00:00.000Z","endTime":"2000-01-01T00:00:01.250Z","gameSessionRegion":"us-east-1",` +
			`"placedPlayerSessions":[{"playerId":"a <b> \"c\" é\u2028","playerSessionId":"psess-1"}],"customEventData":"x"}`),
	}
}

func searching(target string) event.Notice {
	return event.Notice{
		DetailType: "GameLift Matchmaking Event", Source: confARN, Target: target,
		Detail: jsontext.Value(`{"type":"MatchmakingSearching","tickets":[{"ticketId":"t-1","startTime":"2000-01-01T00:00:00.000Z",` +
			`"players":[{"playerId":"a"}]}],"estimatedWaitMillis":"NOT_AVAILABLE","gameSessionInfo":{"players":[{"playerId":"a"}]}}`),
	}
}

var uuidForm = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// golden compares text with a file in testdata, in which every UUID is ID.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	text = uuidForm.ReplaceAll(text, []byte("ID"))
	file := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(file, text, 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s (-want +got), -update writes it:\n%s", name, diff)
	}
}

func indented(t *testing.T, body []byte) []byte {
	t.Helper()
	v := jsontext.Value(bytes.Clone(body))
	must(t, v.Indent(jsontext.WithIndent("  ")))
	return append(v, '\n')
}

func TestShape_EventBridge(t *testing.T) {
	box := &inbox{}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{webhook("a")}}, func(t *testing.T, h *house) {
		wait.Pass(1250 * time.Millisecond)
		h.say(fulfilled(""), searching(""))
		wait.Settle(time.Second)
		taken := box.taken()
		if len(taken) != 2 {
			t.Fatalf("%d deliveries, want 2", len(taken))
		}
		golden(t, "placement-fulfilled.json", indented(t, taken[0].body))
		golden(t, "matchmaking-searching.json", indented(t, taken[1].body))
		if id := taken[0].header.Get("Muster-Event-Id"); !bytes.Contains(taken[0].body, []byte(`"id":"`+id+`"`)) {
			t.Errorf("header Muster-Event-Id %q is not the id of %s", id, taken[0].body)
		}
	})
}

// Signatures are checked here as docs/notifications.md tells receivers to.
func TestShape_WebhookSignature(t *testing.T) {
	box := &inbox{}
	sink := webhook("a")
	sink.Secrets = []string{"new secret", "old secret"}
	in(t, box, notify.Options{Sinks: []notify.SinkConfig{sink}}, func(t *testing.T, h *house) {
		h.say(fulfilled(""))
		wait.Settle(time.Second)
		r := box.taken()[0]
		for _, secret := range sink.Secrets {
			if err := checkSignature(r.header.Get("Muster-Signature"), secret, r.body, r.time); err != nil {
				t.Errorf("with secret %q: %v", secret, err)
			}
		}
		if checkSignature(r.header.Get("Muster-Signature"), "other", r.body, r.time) == nil {
			t.Error("the signature fits a secret that did not make it")
		}
		if checkSignature(r.header.Get("Muster-Signature"), "new secret", append(r.body, ' '), r.time) == nil {
			t.Error("the signature fits another body")
		}
	})
}

// checkSignature is a receiver's check, written from the document alone.
func checkSignature(header, secret string, body []byte, now time.Time) error {
	var at string
	var signatures []string
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "t":
			at = value
		case "v1":
			signatures = append(signatures, value)
		}
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return err
	}
	if age := now.Sub(time.Unix(seconds, 0)).Abs(); age > 5*time.Minute {
		return fmt.Errorf("it is %s old", age)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s", at, body)
	for _, s := range signatures {
		if got, err := hex.DecodeString(s); err == nil && hmac.Equal(got, mac.Sum(nil)) {
			return nil
		}
	}
	return fmt.Errorf("none of %d signatures fits", len(signatures))
}

// AWS consumers behind a Lambda subscription read Records[0].Sns.Message, and those behind
// HTTP read Message: both then parse the same envelope.
func TestShape_SNS(t *testing.T) {
	e := newEndpoint(t)
	h := e.house(notify.SinkConfig{})
	defer h.close()
	e.confirm(e.next())
	h.say(fulfilled(topic))
	m := e.next()
	golden(t, "sns-notification.json", indented(t, scrub(m.body)))
}

// scrub replaces the parts of a message that differ from run to run.
func scrub(body []byte) []byte {
	for _, r := range []struct{ pattern, with string }{
		{`"Signature":"[^"]*"`, `"Signature":"BASE64"`},
		{`cert-[0-9a-f]{32}`, `cert-FINGERPRINT`},
		{`http://127\.0\.0\.1:\d+`, `http://MUSTER`},
		{`"Timestamp":"[^"]*"`, `"Timestamp":"TIME"`},
		{`\\"time\\":\\"[^"]*\\"`, `\"time\":\"TIME\"`},
	} {
		body = regexp.MustCompile(r.pattern).ReplaceAll(body, []byte(strings.ReplaceAll(r.with, `\"`, `\"`)))
	}
	return body
}
