package notify_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/notify"
)

// endpoint is a subscriber as described in the SNS developer guide: it verifies each
// message independently, from what the message says.
type endpoint struct {
	t        testing.TB
	server   *httptest.Server // the subscriber
	muster   *httptest.Server // the handler under test
	mu       sync.RWMutex     // held while a service starts
	service  *notify.Service
	driver   store.Driver
	keyFile  string
	messages chan message
	raw      bool
}

type message struct {
	header http.Header
	body   []byte
	fields map[string]string
}

func newEndpoint(t testing.TB) *endpoint {
	e := &endpoint{t: t, messages: make(chan message, 100), driver: store.NewMemory(), keyFile: keyFile(t)}
	e.server = httptest.NewServer(e)
	t.Cleanup(e.server.Close)
	e.muster = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.RLock()
		service := e.service
		e.mu.RUnlock()
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(e.muster.Close)
	return e
}

// house runs a service with one sns sink that posts to the endpoint.
func (e *endpoint) house(c notify.SinkConfig) *house {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	c.Name, c.Kind, c.URL = "sub", notify.SNS, e.server.URL+"/sns"
	if c.Topics == nil {
		c.Topics = []string{topic}
	}
	h := newHouse(e.t, e.driver, notify.Options{
		Sinks: []notify.SinkConfig{c}, KeyFile: e.keyFile,
		BaseURL: func() string { return e.muster.URL },
		Allow:   func(*http.Request, auth.Action, ...string) (auth.Caller, error) { return auth.Anybody(), nil },
	})
	e.service = h.svc
	return h
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		e.t.Errorf("read message: %v", err)
	}
	m := message{header: r.Header.Clone(), body: body}
	if !e.raw || r.Header.Get("x-amz-sns-message-type") != "Notification" {
		if err := json.Unmarshal(body, &m.fields); err != nil {
			e.t.Errorf("message %s: %v", body, err)
		}
		if err := verify(m.fields); err != nil {
			e.t.Errorf("message %s: %v", body, err)
			w.WriteHeader(http.StatusForbidden)
		}
		for header, field := range map[string]string{"x-amz-sns-message-type": "Type", "x-amz-sns-message-id": "MessageId", "x-amz-sns-topic-arn": "TopicArn"} {
			if got := r.Header.Get(header); got != m.fields[field] || got == "" {
				e.t.Errorf("header %s is %q, member %s is %q", header, got, field, m.fields[field])
			}
		}
	}
	e.messages <- m
}

func (e *endpoint) next() message { return <-e.messages }

// confirm visits a message's SubscribeURL.
func (e *endpoint) confirm(m message) string {
	e.t.Helper()
	status, body := e.get(m.fields["SubscribeURL"])
	if status != http.StatusOK || !strings.Contains(body, "<ConfirmSubscriptionResult><SubscriptionArn>"+topic[:20]) {
		e.t.Fatalf("SubscribeURL answered %d %s", status, body)
	}
	return body
}

func (e *endpoint) get(url string) (int, string) {
	e.t.Helper()
	resp, err := http.Get(url)
	must(e.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(e.t, err)
	return resp.StatusCode, string(body)
}

// verify follows "Verifying the signatures of Amazon SNS messages", step by step.
func verify(m map[string]string) error {
	members := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if m["Type"] != "Notification" {
		members = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	var text strings.Builder
	for _, name := range members {
		if value, ok := m[name]; ok {
			text.WriteString(name + "\n" + value + "\n")
		} else if name != "Subject" {
			return fmt.Errorf("member %s is missing", name)
		}
	}
	resp, err := http.Get(m["SigningCertURL"])
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	file, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(file)
	if block == nil {
		return fmt.Errorf("SigningCertURL answered %d %s", resp.StatusCode, file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(m["Signature"])
	if err != nil {
		return err
	}
	key := certificate.PublicKey.(*rsa.PublicKey)
	switch m["SignatureVersion"] {
	case "1":
		sum := sha1.Sum([]byte(text.String()))
		return rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], signature)
	case "2":
		sum := sha256.Sum256([]byte(text.String()))
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
	}
	return errors.New("unknown SignatureVersion " + m["SignatureVersion"])
}

func TestSNS_Handshake(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		t.Run("version "+version, func(t *testing.T) {
			e := newEndpoint(t)
			h := e.house(notify.SinkConfig{SignatureVersion: version})
			defer h.close()
			ask := e.next()
			if ask.fields["Type"] != "SubscriptionConfirmation" || ask.fields["SignatureVersion"] != version {
				t.Fatalf("the first message is %v", ask.fields)
			}
			if ask.header.Get("x-amz-sns-subscription-arn") != "" {
				t.Error("an endpoint that has not confirmed is told its subscription's ARN")
			}
			url := ask.fields["SigningCertURL"]
			status, named := e.get(url)
			_, plain := e.get(e.muster.URL + "/notify/cert.pem")
			if status != http.StatusOK || named != plain || !strings.HasPrefix(named, "-----BEGIN CERTIFICATE") || strings.Contains(named, "PRIVATE") {
				t.Errorf("%s answered %d %s", url, status, named)
			}
			if status, _ := e.get(e.muster.URL + "/notify/cert-00000000000000000000000000000000.pem"); status != http.StatusNotFound {
				t.Errorf("a certificate of another name: %d, want 404", status)
			}
			h.say(placed("early", topic)) // before it is confirmed: never sent
			passed(t, h, 1)
			e.confirm(ask)
			e.confirm(ask) // a second visit changes nothing
			h.say(placed("p-0", topic), placed("p-1", topic+"-other"), placed("p-2", topic))
			for _, want := range []string{"p-0", "p-2"} {
				m := e.next()
				if m.fields["Type"] != "Notification" || placementOf(t, []byte(m.fields["Message"])) != want {
					t.Errorf("got %v, want a notification of %s", m.fields, want)
				}
				if got := m.header.Get("Content-Type"); got != "text/plain; charset=UTF-8" {
					t.Errorf("Content-Type %q", got)
				}
				if arn := m.header.Get("x-amz-sns-subscription-arn"); !strings.HasPrefix(arn, topic+":") {
					t.Errorf("x-amz-sns-subscription-arn %q", arn)
				}
			}
		})
	}
}

// passed waits until the sink has dealt with the notices up to a number.
func passed(t testing.TB, h *house, seq uint64) {
	t.Helper()
	wait.For(t, fmt.Sprint("the cursor is at ", seq), func() error {
		if got := h.svc.Status()[0].Seq; got != seq {
			return fmt.Errorf("it is at %d", got)
		}
		return nil
	})
}

func TestSNS_ConfirmedSurvivesRestart(t *testing.T) {
	e := newEndpoint(t)
	h := e.house(notify.SinkConfig{})
	e.confirm(e.next())
	h.close()
	h = e.house(notify.SinkConfig{})
	h.say(placed("p-0", topic))
	if m := e.next(); m.fields["Type"] != "Notification" {
		t.Errorf("after a restart the endpoint got %v, want the notification", m.fields)
	}
	h.close()

	// Another URL is another endpoint, which has to confirm.
	other := newEndpoint(t)
	other.driver, other.keyFile = e.driver, e.keyFile
	h = other.house(notify.SinkConfig{})
	defer h.close()
	if m := other.next(); m.fields["Type"] != "SubscriptionConfirmation" {
		t.Errorf("a new endpoint first got %v, want to be asked", m.fields)
	}
}

func TestSNS_Unsubscribe(t *testing.T) {
	e := newEndpoint(t)
	h := e.house(notify.SinkConfig{})
	defer h.close()
	e.confirm(e.next())
	h.say(placed("p-0", topic))
	m := e.next()
	if status, body := e.get(m.fields["UnsubscribeURL"]); status != http.StatusOK || !strings.Contains(body, "<UnsubscribeResponse") {
		t.Fatalf("UnsubscribeURL answered %d %s", status, body)
	}
	gone := e.next()
	if gone.fields["Type"] != "UnsubscribeConfirmation" || gone.fields["Token"] == "" {
		t.Fatalf("after it unsubscribed the endpoint got %v", gone.fields)
	}
	wait.For(t, "the endpoint is unsubscribed", func() error {
		if got := h.svc.Status()[0].Subscriptions[0].Status; got != notify.Unsubscribed {
			return fmt.Errorf("its subscription is %s", got)
		}
		return nil
	})
	h.say(placed("p-1", topic)) // not sent
	passed(t, h, 2)

	e.confirm(gone) // restores the subscription
	h.say(placed("p-2", topic))
	if m := e.next(); placementOf(t, []byte(m.fields["Message"])) != "p-2" {
		t.Errorf("after it came back the endpoint got %v, want p-2", m.fields)
	}

	must(t, h.svc.Subscribe(t.Context(), "sub")) // an operator subscribes anew: the old token is no longer valid
	ask := e.next()
	if ask.fields["Type"] != "SubscriptionConfirmation" || ask.fields["Token"] == gone.fields["Token"] {
		t.Fatalf("subscribed anew, the endpoint got %v", ask.fields)
	}
	if status, body := e.get(gone.fields["SubscribeURL"]); status != http.StatusBadRequest || !strings.Contains(body, "<Code>InvalidParameter</Code>") {
		t.Errorf("a token that was replaced answered %d %s", status, body)
	}
	e.confirm(ask)
}

func TestSNS_RawAndFIFO(t *testing.T) {
	e := newEndpoint(t)
	e.raw = true
	h := e.house(notify.SinkConfig{Raw: true})
	e.confirm(e.next())
	h.say(placed("p-0", topic))
	m := e.next()
	if m.header.Get("x-amz-sns-rawdelivery") != "true" || placementOf(t, m.body) != "p-0" {
		t.Errorf("raw delivery: %v %s", m.header, m.body)
	}
	h.close()

	f := newEndpoint(t)
	h = f.house(notify.SinkConfig{Topics: []string{topic + ".fifo"}})
	defer h.close()
	f.confirm(f.next())
	h.say(placed("p-0", topic+".fifo"), placed("p-1", topic+".fifo"))
	if a, b := f.next().fields["SequenceNumber"], f.next().fields["SequenceNumber"]; len(a) != 20 || a >= b {
		t.Errorf("sequence numbers %q and %q of a FIFO topic do not rise in 20 digits", a, b)
	}
}
