package notify

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{-1: 0, 0: 0, 1: 1, 2: 2, 3: 4, 6: 32, 7: 60, 1000: 60} {
		if got := backoff(failures, 0); got != want*time.Second {
			t.Errorf("backoff(%d, 0) = %s, want %d s", failures, got, want)
		}
		if got := backoff(failures, 0.999999); got < want*time.Second/2 || want > 0 && got > want*time.Second*51/100 {
			t.Errorf("backoff(%d, almost 1) = %s, want half of %d s", failures, got, want)
		}
	}
}

func TestTransport_RefusesLinkLocal(t *testing.T) {
	for _, host := range []string{"169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "0.0.0.0", "224.0.0.1"} {
		p := newPoster(&SinkConfig{URL: "http://user:password@" + host + "/latest?key=hidden", Timeout: time.Minute}, newTransport())
		err := p.post(t.Context(), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "sends nothing") {
			t.Errorf("%s: %v, want it refused", host, err)
		} else if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "password") {
			t.Errorf("the error tells secrets: %v", err)
		}
	}
}

func TestPost_Answers(t *testing.T) {
	followed := false
	mux := http.NewServeMux()
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { followed = true })
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		for range 200 {
			w.Write([]byte(strings.Repeat("\x00\x1b[31m<b>", 1000)))
		}
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	server := httptest.NewServer(mux)
	defer server.Close()
	ask := func(path string) error {
		return newPoster(&SinkConfig{URL: server.URL + path, Timeout: time.Minute}, newTransport()).post(t.Context(), nil, []byte("{}"))
	}
	if err := ask("/moved"); !isRefusal(err) || followed {
		t.Errorf("redirect: %v, followed %t", err, followed)
	}
	err := ask("/huge")
	if !isRefusal(err) || len(err.Error()) > 300 || strings.ContainsAny(err.Error(), "\x00\x1b") {
		t.Errorf("a huge answer makes the error %q", err)
	}
	if err := ask("/none"); err != nil {
		t.Errorf("204: %v", err)
	}
	server.Close()
	if err := ask("/none"); err == nil || isRefusal(err) {
		t.Errorf("nobody listens: %v, want a failure that is no refusal", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newPoster(&SinkConfig{URL: "http://127.0.0.1:1", Timeout: time.Minute}, newTransport()).post(ended, nil, nil); err == nil {
		t.Error("a request after the end was sent")
	}
}

func TestSigner_File(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	made, err := loadSigner(file, now)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v; want mode 0600", info.Mode(), err)
	}
	read, err := loadSigner(file, now.Add(9*365*24*time.Hour))
	if err != nil || read.fingerprint != made.fingerprint {
		t.Errorf("read again: %v, want the same key", err)
	}
	renewed, err := loadSigner(file, now.Add(signerLife-24*time.Hour))
	if err != nil || renewed.fingerprint == made.fingerprint {
		t.Errorf("a day before its end: %v, want a new key", err)
	}
	for _, text := range []string{"", "x", string(made.certificate), string(made.certificate) + string(made.certificate)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadSigner(file, now); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("a file of %d bytes that holds no pair: %v, want an error naming it", len(text), err)
		}
	}
}

// Every query is either refused with a fault or accepted within the limits.
func FuzzQueries(f *testing.F) {
	sub := &Subscription{Topic: "arn:aws:sns:us-east-1:000000000000:games.fifo", Token: newToken()}
	sub.ARN = sub.Topic + ":00000000-0000-4000-8000-000000000000"
	for _, link := range []string{links("").subscribe(sub), links("").unsubscribe(sub)} {
		u, err := url.Parse(link)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(u.RawQuery)
	}
	f.Add("Action=ConfirmSubscription&TopicArn=a&Token=0&Token=1;x=%zz")
	f.Fuzz(func(t *testing.T, query string) {
		c, err := parseConfirm(query)
		if _, ok := fault.As(err); err != nil && !ok {
			t.Errorf("confirm %q: %v is no fault", query, err)
		}
		if err == nil && (len(c.Token) == 0 || len(c.Token) > maxToken || len(c.Topic) > 300 || strings.ContainsAny(c.Topic+c.Token, " \x00\n*")) {
			t.Errorf("confirm %q: took %+v", query, c)
		}
		arn, err := parseUnsubscribe(query)
		if _, ok := fault.As(err); err != nil && !ok {
			t.Errorf("unsubscribe %q: %v is no fault", query, err)
		}
		if err == nil && (len(arn) > maxARN || strings.ContainsRune(arn[:len(arn)-37], 0)) {
			t.Errorf("unsubscribe %q: took %q", query, arn)
		}
	})
}
