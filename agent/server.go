package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/wake"
)

// server is the Muster that the agent works for: its base URLs, and the credential
// for it.
type server struct {
	opts       *Options
	log        *slog.Logger
	http       *http.Client
	at         atomic.Uint32 // index of the base URL in use
	secretKept wake.Nudge    // a new secret is on disk

	mu sync.Mutex
	me credential
}

func newServer(o *Options, log *slog.Logger) *server {
	transport := &http.Transport{TLSClientConfig: o.TLS, Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 30 * time.Second}
	return &server{opts: o, log: log, http: &http.Client{Transport: transport}, secretKept: wake.NewNudge()}
}

// url returns the base URL of Muster in use.
func (s *server) url() string {
	all := s.opts.servers()
	if len(all) == 0 {
		return ""
	}
	return all[int(s.at.Load())%len(all)]
}

// next switches to the next base URL, if there are several.
func (s *server) next() { s.at.Add(1) }

// Waits between attempts to reach Muster: they double, with a random deviation of up to
// a quarter so that many hosts do not connect at the same time.
const (
	firstWait = 250 * time.Millisecond
	lastWait  = 15 * time.Second
)

func longer(wait time.Duration) time.Duration { return min(2*wait, lastWait) }

func jitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.75 + rand.Float64()/2))
}

// shaking limits the time of a WebSocket's handshake.
const shaking = 20 * time.Second

// dial opens a WebSocket to a path. On refusal it returns the response too.
func (s *server) dial(ctx context.Context, path string) (*websocket.Conn, *http.Response, error) {
	dialer := websocket.Dialer{HandshakeTimeout: shaking, TLSClientConfig: s.opts.TLS, Proxy: http.ProxyFromEnvironment}
	url := "ws" + strings.TrimPrefix(s.url(), "http") + path
	return dialer.DialContext(ctx, url, http.Header{"Authorization": {s.credential().bearer()}})
}

// request returns a request with the credential.
func (s *server) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url()+path, body)
	if err == nil {
		req.Header.Set("Authorization", s.credential().bearer())
	}
	return req, err
}

// build opens a build's archive at an offset (install.Source).
func (s *server) build(ctx context.Context, sha string, offset int64) (io.ReadCloser, int64, error) {
	req, err := s.request(ctx, http.MethodGet, protocol.PathBuilds+sha, nil)
	if err != nil {
		return nil, 0, err
	}
	if offset > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
	}
	res, err := s.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	switch res.StatusCode {
	case http.StatusOK:
		return res.Body, 0, nil
	case http.StatusPartialContent:
		if !strings.HasPrefix(res.Header.Get("Content-Range"), "bytes "+strconv.FormatInt(offset, 10)+"-") {
			res.Body.Close()
			return nil, 0, fmt.Errorf("asked for bytes from %d on and got %q", offset, res.Header.Get("Content-Range"))
		}
		return res.Body, offset, nil
	}
	defer res.Body.Close()
	return nil, 0, refusalOf(res)
}

// putLogs sends the logs of a process.
func (s *server) putLogs(ctx context.Context, c protocol.Collect, file *os.File, size int64) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	req, err := s.request(ctx, http.MethodPut, protocol.PathLogs+c.InstanceID+"/"+c.ProcessID, io.NopCloser(file))
	if err != nil {
		return err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/zip")
	res, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusOK {
		return refusalOf(res)
	}
	return nil
}

// refusalOf returns the error that an unsuccessful response describes.
func refusalOf(res *http.Response) error {
	var refusal protocol.Refusal
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	if json.Unmarshal(text, &refusal) == nil && refusal.Message != "" {
		return fmt.Errorf("refused by Muster: %s (HTTP %d)", refusal.Message, res.StatusCode)
	}
	return fmt.Errorf("answered by Muster with HTTP %s", res.Status)
}
