package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/musterhq/muster/notify"
)

func TestSinks_FileAndURL(t *testing.T) {
	file := write(t, `
- name: backend
  kind: sns
  url: https://game.example/sns
  topics: ["arn:aws:sns:us-east-1:000000000000:placements"]
`)
	o := serverOptions(t, "--sinks", file, "--notify-url", "http://127.0.0.1:1/", "--notify-secret", "s3cret")
	want := []notify.SinkConfig{
		{Name: "backend", Kind: notify.SNS, URL: "https://game.example/sns", Topics: []string{"arn:aws:sns:us-east-1:000000000000:placements"}},
		{Name: "notify-url", Kind: notify.Webhook, URL: "http://127.0.0.1:1/", Topics: []string{notify.Everything}, Secrets: []string{"s3cret"}},
	}
	if diff := cmp.Diff(want, o.Sinks); diff != "" {
		t.Error(diff)
	}
}
