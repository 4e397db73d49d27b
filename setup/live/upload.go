package live

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// maxUpload bounds the size of an archive, in bytes: one PUT of S3 takes no more.
const maxUpload = 5 << 30

// build creates a build from its files, waits until it is READY, and returns it. The record
// of a build that cannot be uploaded is deleted.
func (s *Server) build(ctx context.Context, key string, b *setup.Build) (*types.Build, error) {
	archive, err := packed(b, s.Working)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	made, err := s.API.CreateBuild(ctx, &gamelift.CreateBuildInput{
		Name: aws.String(cmp.Or(b.Name, key)), Version: b.Version, OperatingSystem: b.OperatingSystem, ServerSdkVersion: b.ServerSdkVersion,
		Tags: tagsOf(b.Tags, setup.ContentTag, b.Content),
	}, once)
	if err != nil {
		return nil, err
	}
	id := made.Build.BuildId
	if err = s.upload(ctx, key, archive, made); err == nil {
		err = s.wait(ctx, "build "+key, func(ctx context.Context) (bool, string, error) {
			out, err := s.API.DescribeBuild(ctx, &gamelift.DescribeBuildInput{BuildId: id})
			if err != nil {
				return false, "", err
			}
			if out.Build.Status == types.BuildStatusFailed {
				return false, "", fmt.Errorf("the server refuses its archive; 'muster events' says why")
			}
			return out.Build.Status == types.BuildStatusReady, "the server checks the archive", nil
		})
	}
	if err != nil {
		// Nobody waits for this record, and a name stands for its newest build.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer stop()
		_, undone := s.API.DeleteBuild(ctx, &gamelift.DeleteBuildInput{BuildId: id})
		return nil, errors.Join(err, undone)
	}
	return made.Build, nil
}

// packed opens the archive of a build; a folder is packed into a temporary file, which is
// removed when it is closed.
func packed(b *setup.Build, working Working) (io.ReadSeekCloser, error) {
	if b.Archive != "" {
		return os.Open(b.Archive)
	}
	f, err := os.CreateTemp("", "muster-build-*.zip")
	if err != nil {
		return nil, err
	}
	t := &temporary{f}
	if err := pack(b.Folder, f, working); err != nil {
		return nil, errors.Join(fmt.Errorf("pack %s: %w", b.Folder, err), t.Close())
	}
	return t, nil
}

// temporary is a file that is removed when it is closed.
type temporary struct{ *os.File }

func (t *temporary) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }

// upload sends an archive to where the server wants it.
func (s *Server) upload(ctx context.Context, key string, archive io.ReadSeeker, to *gamelift.CreateBuildOutput) error {
	sum := sha256.New()
	_, err := archive.Seek(0, io.SeekStart)
	size := int64(0)
	if err == nil {
		size, err = io.Copy(sum, archive)
	}
	if err == nil {
		_, err = archive.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	if size > maxUpload {
		return fmt.Errorf("its archive has %d bytes, more than the %d of one request: upload it with 'aws gamelift upload-build', and leave out Folder and Archive", size, int64(maxUpload))
	}
	s.tell("build %s: uploading %s", key, bytesOf(size))
	target := fmt.Sprintf("%s/%s/%s", strings.TrimRight(s.Endpoint, "/"), *to.StorageLocation.Bucket, *to.StorageLocation.Key)
	body := &metered{in: archive, read: func(n int64) {
		s.working("build %s: uploaded %d %% of %s", func() []any { return []any{key, 100 * n / max(size, 1), bytesOf(size)} })
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, target, io.NopCloser(body))
	if err != nil {
		return err
	}
	r.ContentLength = size
	hash := hex.EncodeToString(sum.Sum(nil))
	r.Header.Set("X-Amz-Content-Sha256", hash)
	k := to.UploadCredentials
	keys := aws.Credentials{AccessKeyID: *k.AccessKeyId, SecretAccessKey: *k.SecretAccessKey, SessionToken: *k.SessionToken}
	if err := v4.NewSigner().SignHTTP(ctx, keys, r, hash, "s3", s.Region, time.Now()); err != nil {
		return err
	}
	answer, err := cmp.Or(s.HTTP, http.DefaultClient).Do(r)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	defer answer.Body.Close()
	return s3Error("upload", answer)
}

// s3Error returns the error of a response of the S3 subset, nil if it is none.
func s3Error(what string, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	return errors.Join(fmt.Errorf("%s: %s: %s", what, answer.Status, said), err)
}

// metered calls read with the number of bytes that have been read.
type metered struct {
	in   io.Reader
	n    int64
	read func(n int64)
}

// Read implements io.Reader.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	m.n += int64(n)
	m.read(m.n)
	return n, err
}

func bytesOf(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
