package live

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/musterhq/muster/internal/archive"
	"github.com/musterhq/muster/setup"
)

// A bundle is a zip archive with the file of a set-up, the archives of its builds and, if it was
// asked for, the records of players.
const (
	bundleFile    = "muster.yaml"
	bundleBuilds  = "builds/"
	bundlePlayers = "players.ndjson"
)

// Source is where a set-up was read from: a file or a bundle.
type Source struct {
	Setup   *setup.Setup
	Players string // the file with the records of players, "" if there are none
	dir     string // of the unpacked bundle, "" if it is a file
}

// Open reads a set-up from a file or a bundle, with the digests of its builds. The caller must
// close it when it needs the builds and players no more. working, which may be nil, is called often.
func Open(path string, working Working) (*Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if format, err := archive.Detect(f); err != nil || format != archive.Zip {
		s, err := setup.Load(path)
		if err == nil {
			err = Digests(s, working)
		}
		return &Source{Setup: s}, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "muster-bundle-*")
	if err != nil {
		return nil, err
	}
	s := &Source{dir: dir}
	if _, err = archive.Extract(f, info.Size(), archive.Zip, dir, archive.Limits{}, func(_ archive.Contents, percent int) {
		working.show("unpacking %s: %d %%", func() []any { return []any{path, percent} })
	}); err == nil {
		if s.Setup, err = setup.LoadBundled(filepath.Join(dir, bundleFile)); err == nil {
			err = Digests(s.Setup, working)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.Close())
	}
	players := filepath.Join(dir, bundlePlayers)
	if info, err := os.Lstat(players); err == nil && info.Mode().IsRegular() {
		s.Players = players
	}
	return s, nil
}

// Close removes what was unpacked.
func (s *Source) Close() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// Bundle writes a bundle of the set-up of a server, and of its players if players, which writes
// their records, is not nil. The file is there only if it is whole; others than its owner may
// not read it.
func (s *Server) Bundle(ctx context.Context, state *State, path string, players func(io.Writer) error) (err error) {
	out, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err == nil {
			err = os.Rename(out.Name(), path)
		}
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	z := zip.NewWriter(out)
	copied := *state.Setup
	copied.Builds = map[string]*setup.Build{}
	for _, key := range slices.Sorted(maps.Keys(state.Setup.Builds)) {
		b := *state.Setup.Builds[key]
		b.Archive = bundleBuilds + *state.builds[key].BuildId
		s.tell("build %s: reading its archive", key)
		if err := s.archived(ctx, state, key, b.Archive, z); err != nil {
			return fmt.Errorf("build %s: %w", key, err)
		}
		copied.Builds[key] = &b
	}
	if players != nil {
		w, err := z.Create(bundlePlayers)
		if err == nil {
			err = players(w)
		}
		if err != nil {
			return fmt.Errorf("players: %w", err)
		}
	}
	text, err := copied.Text()
	if err != nil {
		return err
	}
	w, err := z.Create(bundleFile)
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		return err
	}
	return z.Close()
}

// buildBucket is where the archives of builds are on a Muster server, by account and build id.
const buildBucket = "muster_builds"

// archived copies the archive of a build into a bundle. It is packed already.
func (s *Server) archived(ctx context.Context, state *State, key, name string, z *zip.Writer) error {
	arn := strings.Split(*state.builds[key].BuildArn, ":") // arn:aws:gamelift:REGION:ACCOUNT:build/ID
	if len(arn) != 6 {
		return fmt.Errorf("its ARN is %q", *state.builds[key].BuildArn)
	}
	url := fmt.Sprintf("%s/%s/%s/%s", strings.TrimRight(s.Endpoint, "/"), buildBucket, arn[4], *state.builds[key].BuildId)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if s.Keys.AccessKeyID != "" {
		const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // the digest of nothing
		r.Header.Set("X-Amz-Content-Sha256", empty)
		if err := v4.NewSigner().SignHTTP(ctx, s.Keys, r, empty, "s3", s.Region, time.Now()); err != nil {
			return err
		}
	}
	answer, err := cmp.Or(s.HTTP, http.DefaultClient).Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := s3Error("read its archive", answer); err != nil {
		return err
	}
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	n, err := io.Copy(w, answer.Body)
	if err == nil && answer.ContentLength >= 0 && n != answer.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return err
}
