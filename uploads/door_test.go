package uploads_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
	"github.com/musterhq/muster/internal/wait"
	"github.com/musterhq/muster/uploads"
)

// shop is the door with the real services.
type shop struct {
	st      *store.Store
	objects *object.Service
	builds  *build.Service
	door    *uploads.Server
	base    string // base URL; set once known
}

// openShop opens a door with a store driver, a folder and a base URL. If anyone is true, requests
// need no signatures.
func openShop(ctx context.Context, driver store.Driver, dir, base string, anyone bool) (*shop, error) {
	master, err := auth.NewMaster(make([]byte, auth.MasterKeySize))
	if err != nil {
		return nil, err
	}
	s := &shop{st: store.New(store.Options{Driver: driver}), base: base}
	events := event.New(s.st, event.Options{})
	keys := auth.New(s.st, events, master, nil)
	s.objects = object.New(s.st, object.Options{Blobs: blob.New(dir), MaxSize: 1 << 20})
	s.builds = build.New(s.st, build.Deps{Events: events, Tags: tag.New(s.st), Objects: s.objects}, build.Options{Home: arn.Home{Region: "us-east-1", Account: "000000000000"}})
	s.door = uploads.New(uploads.Options{
		Store: s.st, Objects: s.objects, Builds: s.builds, Keys: keys, Master: master, Region: "us-east-1",
		Base: base, Anyone: anyone,
	})
	if err := s.st.Open(ctx); err != nil {
		return nil, err
	}
	return s, s.objects.Buckets.Create.Do(ctx, "games")
}

// shopFor serves a shop with state in memory for a test.
func shopFor(t *testing.T, anyone bool) *shop {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	s, err := openShop(t.Context(), store.NewMemory(), t.TempDir(), "http://"+server.Listener.Addr().String(), anyone)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = s.door
	server.Start()
	ctx, stop := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	loops.Go(func() { s.objects.Run(ctx) })
	loops.Go(func() { s.builds.Run(ctx) })
	t.Cleanup(func() {
		server.Close()
		stop()
		loops.Wait()
		if err := s.st.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client has connections of its own: each httptest.Server that closes, closes those of
// http.DefaultClient, also of a request that another test is about to send. A body announced by
// "Expect: 100-continue" is sent once the server asks for it: if it were sent at once, a server
// that refuses it may close the connection while the client writes, and the refusal is lost.
var client = &http.Client{Transport: &http.Transport{ExpectContinueTimeout: wait.Patience()}}

// ask sends one request and returns the response with its body.
func ask(t *testing.T, method, url string, body []byte, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// refusal checks that a response is an error of S3 with a code.
func refusal(t *testing.T, what string, res *http.Response, text, code string) {
	t.Helper()
	var e struct{ Code, Message string }
	if err := xml.Unmarshal([]byte(text), &e); err != nil || e.Code != code || res.StatusCode < 400 || e.Message == "" {
		t.Errorf("%s: %s\n%s\nwant %s", what, res.Status, text, code)
	}
}

func sum64(sum []byte) string { return base64.StdEncoding.EncodeToString(sum) }

func crc(content []byte) string { // big-endian, as in S3
	h := crc32.NewIEEE()
	h.Write(content)
	return sum64(h.Sum(nil))
}

// A body is checked against everything that the request says about it, and a body that
// does not match leaves nothing behind.
func TestPut_HoldsWhatIsSaidOfIt(t *testing.T) {
	t.Parallel()
	s := shopFor(t, true)
	content := []byte("the archive of a game server")
	sha, m := sha256.Sum256(content), md5.Sum(content)
	good := map[string][]string{
		"nothing said":  nil,
		"sha-256":       {"X-Amz-Content-Sha256", hex.EncodeToString(sha[:])},
		"md5":           {"Content-Md5", sum64(m[:])},
		"crc32":         {"X-Amz-Checksum-Crc32", crc(content)},
		"sha256 header": {"X-Amz-Checksum-Sha256", sum64(sha[:])},
	}
	for name, header := range good {
		res, text := ask(t, http.MethodPut, s.base+"/games/"+strings.ReplaceAll(name, " ", "-"), content, header...)
		if res.StatusCode != http.StatusOK || res.Header.Get("ETag") != `"`+hex.EncodeToString(m[:])+`"` {
			t.Errorf("%s: %s, ETag %s\n%s", name, res.Status, res.Header.Get("ETag"), text)
		}
	}
	other := sha256.Sum256([]byte("other"))
	for name, c := range map[string]struct {
		header []string
		code   string
	}{
		"sha-256 of other": {[]string{"X-Amz-Content-Sha256", hex.EncodeToString(other[:])}, "XAmzContentSHA256Mismatch"},
		"no sha-256":       {[]string{"X-Amz-Content-Sha256", "nonsense"}, "InvalidArgument"},
		"md5 of other":     {[]string{"Content-Md5", sum64(make([]byte, 16))}, "BadDigest"},
		"crc of other":     {[]string{"X-Amz-Checksum-Crc32", "AAAAAA=="}, "BadDigest"},
		"crc64 of other":   {[]string{"X-Amz-Checksum-Crc64nvme", "AAAAAAAAAAA="}, "BadDigest"},
		"unknown checksum": {[]string{"X-Amz-Checksum-Md4", "AAAA"}, "NotImplemented"},
		"unknown payload":  {[]string{"X-Amz-Content-Sha256", "STREAMING-NEW"}, "NotImplemented"},
		"copy":             {[]string{"X-Amz-Copy-Source", "/games/md5"}, "NotImplemented"},
	} {
		res, text := ask(t, http.MethodPut, s.base+"/games/refused", content, c.header...)
		refusal(t, name, res, text, c.code)
	}
	res, text := ask(t, http.MethodGet, s.base+"/games/refused", nil)
	refusal(t, "what was refused", res, text, "NoSuchKey")
	res, text = ask(t, http.MethodPut, s.base+"/games/large", make([]byte, 1<<20+1), "Expect", "100-continue")
	refusal(t, "more than an object may have", res, text, "EntityTooLarge")
	res, text = ask(t, http.MethodGet, s.base+"/games/md5", nil, "Range", "bytes=4-10")
	if res.StatusCode != http.StatusPartialContent || text != "archive" {
		t.Errorf("a range: %s, %q", res.Status, text)
	}
}

// chunked returns content in aws-chunked form without signatures.
func chunked(content []byte, trailers ...string) []byte {
	var b bytes.Buffer
	for len(content) > 0 {
		n := min(len(content), 7)
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, content[:n])
		content = content[n:]
	}
	b.WriteString("0\r\n" + strings.Join(trailers, ""))
	b.WriteString("\r\n")
	return b.Bytes()
}

func TestPut_Chunked(t *testing.T) {
	t.Parallel()
	s := shopFor(t, true)
	content := []byte("the archive of a game server")
	trailer := "x-amz-checksum-crc32:" + crc(content) + "\r\n"
	put := func(body []byte, length int) (*http.Response, string) {
		return ask(t, http.MethodPut, s.base+"/games/chunked", body,
			"X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "X-Amz-Trailer", "x-amz-checksum-crc32",
			"X-Amz-Decoded-Content-Length", fmt.Sprint(length), "Content-Encoding", "aws-chunked")
	}
	for name, c := range map[string]struct {
		body   []byte
		length int
		code   string
	}{
		"other checksum":    {chunked(content, "x-amz-checksum-crc32:AAAAAA==\r\n"), len(content), "BadDigest"},
		"no checksum":       {chunked(content), len(content), "BadDigest"},
		"shorter than told": {chunked(content, trailer), len(content) + 1, "IncompleteBody"},
		"longer than told":  {chunked(content, trailer), len(content) - 1, "InvalidArgument"},
		"cut off":           {chunked(content, trailer)[:20], len(content), "IncompleteBody"},
		"no chunks":         {append(bytes.Clone(content), '\n'), len(content), "InvalidArgument"},
		"negative size":     {[]byte("-5\r\nhello\r\n0\r\n\r\n"), 5, "InvalidArgument"},
	} {
		res, text := put(c.body, c.length)
		if name == "longer than told" && res.StatusCode >= 400 {
			continue // which error it is depends on how much was read
		}
		refusal(t, name, res, text, c.code)
	}
	if res, text := put(chunked(content, trailer), len(content)); res.StatusCode != http.StatusOK {
		t.Fatalf("%s\n%s", res.Status, text)
	}
	if _, text := ask(t, http.MethodGet, s.base+"/games/chunked", nil); text != string(content) {
		t.Errorf("it reads back as %q", text)
	}
}

// multipart sends content in parts, the last first, and completes them.
func multipart(t *testing.T, base, key string, parts ...string) (*http.Response, string) {
	t.Helper()
	_, text := ask(t, http.MethodPost, base+"/games/"+key+"?uploads", nil, "Content-Disposition", "inline")
	var made struct{ UploadId string }
	if err := xml.Unmarshal([]byte(text), &made); err != nil || made.UploadId == "" {
		t.Fatalf("begin: %v\n%s", err, text)
	}
	tags := make([]string, len(parts))
	for n := len(parts) - 1; n >= 0; n-- {
		res, text := ask(t, http.MethodPut, fmt.Sprintf("%s/games/%s?uploadId=%s&partNumber=%d", base, key, made.UploadId, n+1), []byte(parts[n]))
		if res.StatusCode != http.StatusOK {
			t.Fatalf("part %d: %s\n%s", n+1, res.Status, text)
		}
		tags[n] = res.Header.Get("ETag")
	}
	var list strings.Builder
	for n, tag := range tags {
		fmt.Fprintf(&list, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>", n+1, tag)
	}
	return ask(t, http.MethodPost, base+"/games/"+key+"?uploadId="+made.UploadId, []byte("<CompleteMultipartUpload>"+list.String()+"</CompleteMultipartUpload>"))
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	s := shopFor(t, true)
	if res, text := multipart(t, s.base, "whole", "one ", "two ", "three"); res.StatusCode != http.StatusOK || !strings.Contains(text, "-3") {
		t.Fatalf("%s\n%s", res.Status, text)
	}
	if res, text := ask(t, http.MethodGet, s.base+"/games/whole", nil); text != "one two three" || res.Header.Get("Content-Disposition") != "inline" {
		t.Errorf("it reads back as %q, with %v", text, res.Header)
	}
	_, text := ask(t, http.MethodPost, s.base+"/games/broken?uploads", nil)
	var made struct{ UploadId string }
	if err := xml.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	at := s.base + "/games/broken?uploadId=" + made.UploadId
	for name, body := range map[string]string{
		"a part that was not sent": "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>",
		"none":                     "<CompleteMultipartUpload></CompleteMultipartUpload>",
		"no XML":                   "{",
	} {
		if res, text := ask(t, http.MethodPost, at, []byte(body)); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s\n%s", name, res.Status, text)
		}
	}
	if res, _ := ask(t, http.MethodDelete, at, nil); res.StatusCode != http.StatusNoContent {
		t.Errorf("abort: %s", res.Status)
	}
	res, text := ask(t, http.MethodPut, at+"&partNumber=1", []byte("x"))
	refusal(t, "a part after the abort", res, text, "NoSuchUpload")
}

// An object is served with the headers that it was uploaded with, and no others of that
// kind; additional headers keep browsers from running anything.
func TestObject_Headers(t *testing.T) {
	t.Parallel()
	s := shopFor(t, true)
	content := []byte("<script>alert(1)</script>")
	full := []string{
		"Content-Type", "text/html", "Cache-Control", "max-age=60", "Content-Disposition", `inline; filename="a.html"`,
		"Content-Encoding", "gzip", "Content-Language", "en", "Expires", "Thu, 01 Jan 2099 00:00:00 GMT", "X-Amz-Meta-Version", "7",
	}
	put := func(key string, body []byte, header ...string) {
		t.Helper()
		if res, text := ask(t, http.MethodPut, s.base+"/games/"+key, body, header...); res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s\n%s", key, res.Status, text)
		}
	}
	put("full", content, full...)
	put("bare", content)
	put("chunked", chunked(content), "X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
		"X-Amz-Decoded-Content-Length", fmt.Sprint(len(content)), "Content-Encoding", "aws-chunked, br")
	none := []string{"Cache-Control", "", "Content-Disposition", "", "Content-Encoding", "", "Content-Language", "", "Expires", ""}
	for _, c := range []struct {
		key  string
		want []string
	}{
		{"full", full}, {"bare", none}, {"chunked", []string{"Content-Encoding", "br"}},
	} {
		want := append(c.want, "Content-Length", fmt.Sprint(len(content)), "X-Content-Type-Options", "nosniff",
			"Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'", "Cross-Origin-Resource-Policy", "same-origin")
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			res, _ := ask(t, method, s.base+"/games/"+c.key, nil, "Accept-Encoding", "identity")
			for n := 0; n < len(want); n += 2 {
				if got := res.Header.Get(want[n]); got != want[n+1] {
					t.Errorf("%s %s: %s is %q, want %q", method, c.key, want[n], got, want[n+1])
				}
			}
		}
	}
	res, text := ask(t, http.MethodPut, s.base+"/games/large", content, "Content-Disposition", strings.Repeat("x", 3000))
	refusal(t, "headers of 3,000 bytes", res, text, "InvalidRequest")
}

// A signed URL is valid for one method, one object and its lifetime; other requests are
// refused.
func TestPresigned(t *testing.T) {
	t.Parallel()
	s := shopFor(t, false)
	sign := func(method, key string, life time.Duration) string {
		t.Helper()
		url, err := s.door.Presign(method, "games", key, life)
		if err != nil {
			t.Fatal(err)
		}
		return url
	}
	if res, text := ask(t, http.MethodPut, sign(http.MethodPut, "a b/ü.zip", time.Minute), []byte("content")); res.StatusCode != http.StatusOK {
		t.Fatalf("%s\n%s", res.Status, text)
	}
	get := sign(http.MethodGet, "a b/ü.zip", time.Minute)
	if _, text := ask(t, http.MethodGet, get, nil); text != "content" {
		t.Errorf("it reads back as %q", text)
	}
	for name, c := range map[string]struct{ method, url string }{
		"another method":     {http.MethodPut, get},
		"another object":     {http.MethodGet, strings.Replace(get, ".zip", ".tar", 1)},
		"a longer life":      {http.MethodGet, strings.Replace(get, "X-Amz-Expires=60", "X-Amz-Expires=600", 1)},
		"no signature":       {http.MethodGet, s.base + "/games/a%20b/%C3%BC.zip"},
		"a list of the keys": {http.MethodGet, s.base + "/games"},
	} {
		if res, text := ask(t, c.method, c.url, nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s\n%s", name, res.Status, text)
		}
	}
}

// Where a deployment has several regions, a signature is valid in the region that it names.
func TestPresigned_OfAnotherRegion(t *testing.T) {
	t.Parallel()
	s := shopFor(t, false)
	s.door.Several = true
	url, err := s.door.Presign(http.MethodPut, "games", "key", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if res, text := ask(t, http.MethodPut, url, []byte("content")); res.StatusCode != http.StatusOK {
		t.Errorf("in its region: %s\n%s", res.Status, text)
	}
	s.door.Region = "eu-central-1"
	if res, text := ask(t, http.MethodPut, url, []byte("content")); res.StatusCode != http.StatusForbidden || !strings.Contains(text, "us-east-1") {
		t.Errorf("in another one: %s\n%s", res.Status, text)
	}
}

// When many clients put, replace and delete a few keys concurrently, each object is at
// any time a complete one that was put.
func TestPut_ManyAtOnce(t *testing.T) {
	t.Parallel()
	s := shopFor(t, true)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 5))
			for range 20 {
				url := fmt.Sprintf("%s/games/key-%d", s.base, r.IntN(3))
				switch r.IntN(4) {
				case 0:
					ask(t, http.MethodDelete, url, nil)
				case 1:
					res, text := ask(t, http.MethodGet, url, nil)
					if res.StatusCode == http.StatusOK && fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum([]byte(text)))) != res.Header.Get("ETag") {
						t.Errorf("%s is not what its ETag says", url)
					}
				default:
					content := bytes.Repeat([]byte{byte(r.IntN(256))}, 1+r.IntN(5000))
					if res, text := ask(t, http.MethodPut, url, content); res.StatusCode != http.StatusOK {
						t.Errorf("put: %s\n%s", res.Status, text)
					}
				}
			}
		})
	}
	all.Wait()
	for key := range 3 {
		res, text := ask(t, http.MethodGet, fmt.Sprintf("%s/games/key-%d", s.base, key), nil)
		switch {
		case res.StatusCode == http.StatusNotFound:
		case res.StatusCode != http.StatusOK, text != strings.Repeat(text[:1], len(text)):
			t.Errorf("key-%d: %s, %d bytes of several puts", key, res.Status, len(text))
		}
	}
}
