package notify_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/notify"
)

func TestValidate(t *testing.T) {
	good := func() notify.SinkConfig { return webhook("a") }
	sns := func() notify.SinkConfig {
		return notify.SinkConfig{Name: "s", Kind: notify.SNS, URL: "https://x/", Topics: []string{topic}}
	}
	for _, c := range []struct {
		sink notify.SinkConfig
		edit func(*notify.SinkConfig)
		want string // in the error; "" for none
	}{
		{good(), func(*notify.SinkConfig) {}, ""},
		{sns(), func(*notify.SinkConfig) {}, ""},
		{sns(), func(s *notify.SinkConfig) { s.SignatureVersion, s.Raw = "2", true }, ""},
		{notify.SinkConfig{Name: "l", Kind: notify.Log, Topics: []string{"*"}}, func(*notify.SinkConfig) {}, ""},
		{good(), func(s *notify.SinkConfig) { s.Name = "" }, "sinks[0].name"},
		{good(), func(s *notify.SinkConfig) { s.Name = "a b" }, "sinks[0].name"},
		{good(), func(s *notify.SinkConfig) { s.Kind = "nats" }, "sinks[0].kind"},
		{good(), func(s *notify.SinkConfig) { s.URL = "" }, "sinks[0].url"},
		{good(), func(s *notify.SinkConfig) { s.URL = "ftp://secret@x/" }, "sinks[0].url"},
		{good(), func(s *notify.SinkConfig) { s.Kind = notify.Log }, "sinks[0].url"},
		{good(), func(s *notify.SinkConfig) { s.Topics = nil }, "sinks[0].topics"},
		{good(), func(s *notify.SinkConfig) { s.Topics = []string{"a b"} }, "sinks[0].topics[0]"},
		{good(), func(s *notify.SinkConfig) { s.Topics = []string{topic, topic} }, "sinks[0].topics[1]"},
		{sns(), func(s *notify.SinkConfig) { s.Topics = []string{"*"} }, "sinks[0].topics[0]"},
		{good(), func(s *notify.SinkConfig) { s.Secrets = []string{""} }, "sinks[0].secrets"},
		{sns(), func(s *notify.SinkConfig) { s.Secrets = []string{"x"} }, "sinks[0].secrets"},
		{good(), func(s *notify.SinkConfig) { s.Raw = true }, "sinks[0].raw"},
		{good(), func(s *notify.SinkConfig) { s.SignatureVersion = "1" }, "sinks[0].signature_version"},
		{sns(), func(s *notify.SinkConfig) { s.SignatureVersion = "3" }, "sinks[0].signature_version"},
		{good(), func(s *notify.SinkConfig) { s.Timeout = -1 }, "sinks[0].timeout"},
		{good(), func(s *notify.SinkConfig) { s.InFlight = 65 }, "sinks[0].in_flight"},
		{good(), func(s *notify.SinkConfig) { s.MaxAttempts = 101 }, "sinks[0].max_attempts"},
		{good(), func(s *notify.SinkConfig) { s.Headers = map[string]string{"A": "secret\r\nB: c"} }, "sinks[0].headers"},
		{good(), func(s *notify.SinkConfig) { s.Headers = map[string]string{"host": "x"} }, "sinks[0].headers"},
	} {
		c.edit(&c.sink)
		err := notify.Validate([]notify.SinkConfig{c.sink})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v", c.sink, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%+v: %v, want an error about %s", c.sink, err, c.want)
		case err != nil && strings.Contains(err.Error(), "secret@"), err != nil && strings.Contains(err.Error(), "secret\\r"):
			t.Errorf("the error tells a secret: %v", err)
		}
	}
	if err := notify.Validate([]notify.SinkConfig{good(), good()}); err == nil || !strings.HasPrefix(err.Error(), "sinks[1].name") {
		t.Errorf("two sinks of one name: %v", err)
	}
	st := store.New(store.Options{Driver: store.NewMemory()})
	if _, err := notify.New(st, event.New(st, event.Options{}), notify.Options{Sinks: []notify.SinkConfig{sns()}}); err == nil {
		t.Error("an sns sink without a base URL and a signing key was taken")
	}
}
