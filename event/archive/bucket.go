package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// bucket is a Target and a Source in a bucket of Amazon S3, or of a service with its API.
type bucket struct {
	name, prefix string
	client       *s3.Client
	region       string
}

var (
	bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixForm = regexp.MustCompile(`^[a-zA-Z0-9!_.*'()/-]{0,512}$`) // what is safe in keys, as AWS says
)

// openBucket takes the region, the endpoint and the credentials from where AWS's tools do.
// Services at other endpoints than AWS's have paths that begin with the bucket.
func openBucket(ctx context.Context, name, prefix string) (*bucket, error) {
	switch {
	case !bucketForm.MatchString(name):
		return nil, fmt.Errorf("%q is not the name of a bucket: 3 to 63 of a-z 0-9 . -", name)
	case !prefixForm.MatchString(prefix):
		return nil, fmt.Errorf("prefix %q: at most 512 of a-z A-Z 0-9 ! _ . * ' ( ) - /, as AWS recommends", prefix)
	}
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of AWS's tools: %w", err)
	}
	own := s3.NewFromConfig(c).Options().BaseEndpoint != nil
	if c.Region == "" && !own {
		return nil, errors.New("the region of the bucket is not known: set AWS_REGION, or region in the AWS profile")
	}
	c.Region = cmp.Or(c.Region, "us-east-1")
	client := s3.NewFromConfig(c, func(o *s3.Options) {
		o.UsePathStyle, o.Credentials = own, credentials{c.Credentials}
		o.DisableLogOutputChecksumValidationSkipped = true // what is packed has a checksum of its own
		if os.Getenv("AWS_REQUEST_CHECKSUM_CALCULATION") == "" {
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired // the signature has one; not every service knows others
		}
	})
	return &bucket{name, prefix, client, c.Region}, nil
}

// String returns the URL of the target.
func (b *bucket) String() string {
	return (&url.URL{Scheme: "s3", Host: b.name, Path: "/" + b.prefix}).String()
}

// Put implements Target.
func (b *bucket) Put(ctx context.Context, name string, data []byte) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.name, Key: aws.String(path.Join(b.prefix, name)), Body: bytes.NewReader(data), ContentType: aws.String("application/gzip"),
	})
	return b.told(err, "--events-archive", "write", "s3:PutObject on arn:aws:s3:::"+path.Join(b.name, b.prefix, "*"))
}

// At implements Source.
func (b *bucket) At(name string) string {
	return (&url.URL{Scheme: "s3", Host: b.name, Path: "/" + path.Join(b.prefix, name)}).String()
}

// Regions implements Source.
func (b *bucket) Regions(ctx context.Context) (all []string, err error) {
	under := b.under("")
	for page, err := range b.pages(ctx, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &under, Delimiter: aws.String("/")}) {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", b.At(""), err)
		}
		for _, p := range page.CommonPrefixes {
			all = append(all, path.Base(aws.ToString(p.Prefix)))
		}
	}
	return all, nil
}

// List implements Source. It holds a page of the bucket's list.
func (b *bucket) List(ctx context.Context, region, from string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		under := b.under(region)
		in := &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: &under}
		if from != "" {
			in.StartAfter = aws.String(under + from)
		}
		for page, err := range b.pages(ctx, in) {
			if err != nil {
				yield("", err)
				return
			}
			for _, o := range page.Contents {
				if !yield(region+"/"+strings.TrimPrefix(aws.ToString(o.Key), under), nil) {
					return
				}
			}
		}
	}
}

// under returns what the keys of all objects below a folder of the archive begin with.
func (b *bucket) under(folder string) string {
	if p := path.Join(b.prefix, folder); p != "" {
		return p + "/"
	}
	return ""
}

// pages returns the pages of a list.
func (b *bucket) pages(ctx context.Context, in *s3.ListObjectsV2Input) iter.Seq2[*s3.ListObjectsV2Output, error] {
	return func(yield func(*s3.ListObjectsV2Output, error) bool) {
		for list := s3.NewListObjectsV2Paginator(b.client, in); list.HasMorePages(); {
			page, err := list.NextPage(ctx)
			if err = b.told(err, "the archive's name", "list", "s3:ListBucket on arn:aws:s3:::"+b.name); !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// Get implements Source.
func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	object, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: aws.String(path.Join(b.prefix, name))})
	if err = b.told(err, "the archive's name", "read", "s3:GetObject on arn:aws:s3:::"+path.Join(b.name, b.prefix, "*")); err != nil {
		return nil, err
	}
	return object.Body, nil
}

// told adds to an error what an operator has to do about it: where the bucket is named, what
// the credentials may not do, and what allows it.
func (b *bucket) told(err error, named, deed, allow string) error {
	if what := b.remedy(err, named, deed, allow); what != "" {
		return fmt.Errorf("%s (%w)", what, err)
	}
	return err
}

// remedy says what an operator has to do about an error, or "".
func (b *bucket) remedy(err error, named, deed, allow string) string {
	if err == nil {
		return ""
	}
	if errors.Is(err, errNoCredentials) {
		return "there are no credentials: give them where AWS's tools find them (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the role of the machine)"
	}
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok && answer.HTTPStatusCode() == http.StatusMovedPermanently {
		return b.elsewhere()
	}
	var code string
	if said, ok := errors.AsType[smithy.APIError](err); ok {
		code = said.ErrorCode()
	}
	switch code {
	case "NoSuchBucket":
		return fmt.Sprintf("there is no bucket %s: create it, or correct %s", b.name, named)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return "the credentials are not valid: renew them where AWS's tools find them (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or the role of the machine)"
	case "AccessDenied", "AllAccessDisabled", "AccountProblem":
		return fmt.Sprintf("the credentials may not %s there: allow %s", deed, allow)
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return b.elsewhere()
	case "RequestTimeTooSkewed":
		return "the clock of this machine is wrong: set it by NTP"
	}
	return ""
}

func (b *bucket) elsewhere() string {
	return fmt.Sprintf("the bucket is not in the region %s: set AWS_REGION to the bucket's", b.region)
}

var errNoCredentials = errors.New("no credentials")

// credentials marks the errors of a provider with errNoCredentials.
type credentials struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (c credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	v, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoCredentials, err)
	}
	return v, err
}
