package uploads

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/fault"
)

// largestPage is the maximum number of keys in a list, as in S3.
const largestPage = 1000

func (s *Server) createBucket(r *request) error {
	if err := s.Objects.Buckets.Create.Do(r.Context(), r.bucket); err != nil {
		switch {
		case fault.Is(err, fault.Conflict):
			return s3Error{http.StatusConflict, "BucketAlreadyExists", err.Error()}
		case fault.Is(err, fault.InvalidRequest):
			return s3Error{http.StatusBadRequest, "InvalidBucketName", err.Error()}
		}
		return err
	}
	r.w.Header().Set("Location", "/"+r.bucket)
	r.w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) headBucket(r *request) error {
	r.w.Header().Set("X-Amz-Bucket-Region", s.Region)
	r.w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) deleteBucket(r *request) error {
	if err := s.Objects.Buckets.Delete.Do(r.Context(), r.bucket); err != nil {
		if fault.Is(err, fault.Conflict) {
			return s3Error{http.StatusConflict, "BucketNotEmpty", "the bucket holds objects; delete them first"}
		}
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) bucketLocation(r *request) error {
	region := s.Region
	if region == "us-east-1" {
		region = "" // as in S3
	}
	writeXML(r, http.StatusOK, struct {
		XMLName   xml.Name `xml:"LocationConstraint"`
		Namespace string   `xml:"xmlns,attr"`
		Region    string   `xml:",chardata"`
	}{Namespace: namespace, Region: region})
	return nil
}

func (s *Server) listBuckets(r *request) error {
	type bucket struct{ Name, CreationDate string }
	out := struct {
		XMLName   xml.Name `xml:"ListAllMyBucketsResult"`
		Namespace string   `xml:"xmlns,attr"`
		Buckets   []bucket `xml:"Buckets>Bucket"`
	}{Namespace: namespace}
	for b := range s.Objects.Buckets.All(s.Store.View()) {
		out.Buckets = append(out.Buckets, bucket{b.Name, stamp(b.Created)})
	}
	writeXML(r, http.StatusOK, out)
	return nil
}

// stamp formats a time as in S3's documents.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func pageSize(r *request, parameter string) (int, error) {
	text := r.URL.Query().Get(parameter)
	if text == "" {
		return largestPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errArgument(parameter + ": must be a number from 0")
	}
	return min(n, largestPage), nil
}

// listed is a page of a bucket's objects.
type listed struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Namespace             string   `xml:"xmlns,attr"`
	Name, Prefix          string
	Delimiter             string `xml:",omitempty"`
	EncodingType          string `xml:",omitempty"`
	MaxKeys               int
	KeyCount              int `xml:",omitempty"`
	IsTruncated           bool
	Marker                *string
	NextMarker            string         `xml:",omitempty"`
	ContinuationToken     string         `xml:",omitempty"`
	NextContinuationToken string         `xml:",omitempty"`
	Contents              []listedObject `xml:"Contents"`
	CommonPrefixes        []listedPrefix `xml:"CommonPrefixes"`
	encode                func(string) string
}

type listedObject struct {
	Key, LastModified, ETag string
	Size                    int64
	StorageClass            string
}

type listedPrefix struct{ Prefix string }

// listObjects serves ListObjectsV2, and ListObjects if list-type is not 2.
func (s *Server) listObjects(r *request) error {
	size, err := pageSize(r, "max-keys")
	if err != nil {
		return err
	}
	q := r.URL.Query()
	out := &listed{Namespace: namespace, Name: r.bucket, MaxKeys: size, encode: func(t string) string { return t }}
	if out.EncodingType = q.Get("encoding-type"); out.EncodingType == "url" {
		out.encode = func(t string) string { return strings.ReplaceAll(url.QueryEscape(t), "%2F", "/") }
	}
	out.Prefix, out.Delimiter = out.encode(q.Get("prefix")), out.encode(q.Get("delimiter"))
	after, second := q.Get("marker"), q.Get("list-type") == "2"
	if second {
		if after, err = readToken(q); err != nil {
			return err
		}
	}
	last := s.fillPage(out, q.Get("prefix"), q.Get("delimiter"), after)
	switch {
	case second:
		out.ContinuationToken, out.KeyCount = q.Get("continuation-token"), len(out.Contents)+len(out.CommonPrefixes)
		if out.IsTruncated {
			out.NextContinuationToken = base64.RawURLEncoding.EncodeToString([]byte(last))
		}
	default:
		out.Marker = new(out.encode(after))
		if out.IsTruncated {
			out.NextMarker = out.encode(last)
		}
	}
	writeXML(r, http.StatusOK, out)
	return nil
}

// readToken returns the key after which a page begins.
func readToken(q url.Values) (string, error) {
	token := q.Get("continuation-token")
	if token == "" {
		return q.Get("start-after"), nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", errArgument("continuation-token: it is none of ours")
	}
	return string(raw), nil
}

// fillPage fills a page with the objects after a key, and returns the key or common
// prefix that it ends with.
func (s *Server) fillPage(out *listed, prefix, delimiter, after string) (last string) {
	view := s.Store.View()
	group := "" // the common prefix that is being skipped
	if delimiter != "" && strings.HasSuffix(after, delimiter) && len(after) > len(prefix) {
		group = after
	}
	for o := range s.Objects.List(view, out.Name, prefix, after) {
		if group != "" && strings.HasPrefix(o.Key, group) {
			continue
		}
		if len(out.Contents)+len(out.CommonPrefixes) == out.MaxKeys {
			out.IsTruncated = out.MaxKeys > 0
			return last
		}
		if at := strings.Index(o.Key[len(prefix):], delimiter); delimiter != "" && at >= 0 {
			group = o.Key[:len(prefix)+at+len(delimiter)]
			out.CommonPrefixes = append(out.CommonPrefixes, listedPrefix{out.encode(group)})
			last = group
			continue
		}
		out.Contents = append(out.Contents, listedObject{out.encode(o.Key), stamp(o.Modified), quoted(o.ETag), o.Size, "STANDARD"})
		last = o.Key
	}
	return last
}
