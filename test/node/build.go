package node

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// Upload creates a build from programs on the Muster at a base URL, as AWS's CLI does,
// and returns its id once the build is READY. It is for Linux, unless it is changed.
func Upload(ctx context.Context, url string, c *gamelift.Client, programs map[string][]byte, change ...func(*gamelift.CreateBuildInput)) (buildID string, err error) {
	archive, err := archived(programs)
	if err != nil {
		return "", err
	}
	in := &gamelift.CreateBuildInput{Name: aws.String("uploaded"), OperatingSystem: types.OperatingSystemAmazonLinux2023}
	for _, f := range change {
		f(in)
	}
	made, err := c.CreateBuild(ctx, in)
	if err != nil {
		return "", err
	}
	target := fmt.Sprintf("%s/%s/%s", url, *made.StorageLocation.Bucket, *made.StorageLocation.Key)
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, target, bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(archive)
	hash := hex.EncodeToString(sum[:])
	r.Header.Set("X-Amz-Content-Sha256", hash)
	k := made.UploadCredentials
	who := aws.Credentials{AccessKeyID: *k.AccessKeyId, SecretAccessKey: *k.SecretAccessKey, SessionToken: *k.SessionToken}
	if err := v4.NewSigner().SignHTTP(ctx, who, r, hash, "s3", "us-east-1", time.Now()); err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("upload: %s: %s %w", answer.Status, text, err)
	}
	for id := *made.Build.BuildId; ; {
		b, err := c.DescribeBuild(ctx, &gamelift.DescribeBuildInput{BuildId: &id})
		if err != nil {
			return "", err
		}
		switch b.Build.Status {
		case types.BuildStatusReady:
			return id, nil
		case types.BuildStatusFailed:
			return "", fmt.Errorf("build %s has FAILED", id)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// archived returns a zip archive of programs, uncompressed since it is read only once.
func archived(programs map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, content := range programs {
		h := &zip.FileHeader{Name: name, Method: zip.Store}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
