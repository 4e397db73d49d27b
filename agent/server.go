package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/musterhq/muster/agent/disk"
	"github.com/musterhq/muster/agent/instance"
	"github.com/musterhq/muster/agent/link"
	"github.com/musterhq/muster/hosts/protocol"
	"github.com/musterhq/muster/internal/tracing"
)

// credentialFile is the file of the credential below Root.
const credentialFile = "credential.json"

// HasJoined reports whether an agent's folder has a credential, so that no token is
// needed.
func HasJoined(root string) bool {
	_, err := os.Stat(filepath.Join(root, credentialFile))
	return err == nil
}

// keeper keeps the credential below Root.
type keeper struct{ root string }

func (k keeper) Place() string { return credentialFile + " from the agent's folder" }

func (k keeper) Load(context.Context) (c link.Credential, err error) {
	err = disk.Read(filepath.Join(k.root, credentialFile), &c)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return link.Credential{}, fmt.Errorf("read credential: %w", err)
	}
	return c, nil
}

// Store writes the credential to disk durably: without it the machine has no access.
func (k keeper) Store(_ context.Context, c link.Credential) error {
	if err := disk.Write(filepath.Join(k.root, credentialFile), c); err != nil {
		return err
	}
	if dir, err := os.Open(k.root); err == nil {
		_ = dir.Sync() // some systems cannot sync a folder, and need not
		dir.Close()
	}
	return nil
}

func (k keeper) Remove(context.Context) error {
	if err := os.Remove(filepath.Join(k.root, credentialFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// server is the Muster that the agent works for.
type server struct{ *link.Server }

func newServer(o *Options, facts func() protocol.Facts) *server {
	return &server{link.NewServer(link.Options{
		Servers: o.servers(), TLS: o.TLS, Token: o.Token, NewToken: o.NewToken,
		Facts: facts, Keeper: keeper{o.Root}, Log: o.Log.With("component", "agent"),
	})}
}

// build opens a build's archive at an offset (install.Source).
func (s *server) build(ctx context.Context, sha string, offset int64) (_ io.ReadCloser, _ int64, err error) {
	ctx, span := tracing.Start(ctx, "fetch build", trace.SpanKindClient, attribute.Int64("muster.build.offset", offset))
	defer func() {
		if err != nil {
			tracing.End(span, err)
		}
	}()
	req, err := s.Request(ctx, http.MethodGet, protocol.PathBuilds+sha, nil)
	if err != nil {
		return nil, 0, err
	}
	tracing.Inject(ctx, req.Header)
	if offset > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
	}
	res, err := s.Do(req)
	if err != nil {
		return nil, 0, err
	}
	switch res.StatusCode {
	case http.StatusOK:
		return traced{res.Body, span}, 0, nil
	case http.StatusPartialContent:
		if !strings.HasPrefix(res.Header.Get("Content-Range"), "bytes "+strconv.FormatInt(offset, 10)+"-") {
			res.Body.Close()
			return nil, 0, fmt.Errorf("asked for bytes from %d on and got %q", offset, res.Header.Get("Content-Range"))
		}
		return traced{res.Body, span}, offset, nil
	}
	defer res.Body.Close()
	return nil, 0, link.RefusalOf(res)
}

// traced is the body of an answer, with whose end a span ends.
type traced struct {
	io.ReadCloser
	span trace.Span
}

// Close implements io.Closer.
func (t traced) Close() error {
	t.span.End()
	return t.ReadCloser.Close()
}

// putLogs sends the logs of a process.
func (s *server) putLogs(ctx context.Context, c protocol.Collect, file *os.File, size int64) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	req, err := s.Request(ctx, http.MethodPut, protocol.PathLogs+c.InstanceID+"/"+c.ProcessID, io.NopCloser(file))
	if err != nil {
		return err
	}
	req.ContentLength = size
	tracing.Inject(ctx, req.Header)
	req.Header.Set("Content-Type", "application/zip")
	res, err := s.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusOK {
		return link.RefusalOf(res)
	}
	return nil
}

// certify requests a certificate for the game servers of an instance (instance.Certify).
func (s *server) certify(ctx context.Context, instanceID string, in protocol.CertificateRequest) (out protocol.CertificateResponse, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := s.Request(ctx, http.MethodPost, protocol.PathCertificates+instanceID, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.Do(req)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		err = json.NewDecoder(io.LimitReader(res.Body, maxCertificate)).Decode(&out)
		return out, err
	case http.StatusBadRequest:
		return out, fmt.Errorf("%w: %w", instance.ErrNoCertificate, link.RefusalOf(res))
	}
	return out, link.RefusalOf(res)
}

// maxCertificate bounds a response with a certificate in bytes.
const maxCertificate = 64 << 10
