package uploads

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/build/object"
)

// putObject stores the body as an object.
func (s *Server) putObject(r *request) error {
	content, sums, err := s.receive(r)
	if err != nil {
		return err
	}
	o, err := s.Objects.Put(r.Context(), &object.Object{
		Bucket: r.bucket, Key: r.key, ContentType: contentType(r), Headers: kept(r), Meta: meta(r),
	}, content)
	if err != nil {
		return err
	}
	r.w.Header().Set("ETag", quoted(o.ETag))
	sums.tell(r.w.Header())
	r.w.WriteHeader(http.StatusOK)
	return nil
}

// tell sets headers with the checksums that were verified.
func (c *checksums) tell(h http.Header) {
	for algorithm, value := range c.want {
		h.Set(checksumPrefix+algorithm, value)
	}
}

// getObject serves GET and HEAD, with ranges and conditions.
func (s *Server) getObject(r *request) error {
	o := s.Objects.Get(s.Store.View(), r.bucket, r.key)
	if o == nil {
		return errNoKey
	}
	file, err := s.Objects.Open(o)
	if err != nil {
		return err
	}
	defer file.Close()
	h := r.w.Header()
	for name, value := range o.Headers {
		h.Set(name, value)
	}
	for name, value := range o.Meta {
		h.Set("X-Amz-Meta-"+name, value)
	}
	h.Set("ETag", quoted(o.ETag))
	h.Set("Content-Type", cmp.Or(o.ContentType, "binary/octet-stream")) // as in S3
	h.Set("Content-Length", strconv.FormatInt(o.Size, 10))              // ServeContent does not set it if there is a Content-Encoding
	// Whatever was uploaded, a browser that opens it must not run anything in it or
	// embed it in another page: the console has the same origin.
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(r.w, r.Request, "", o.Modified, file)
	return nil
}

func (s *Server) deleteObject(r *request) error {
	if err := s.Objects.Delete.Do(r.Context(), object.Name{Bucket: r.bucket, Key: r.key}); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

func contentType(r *request) string {
	t := r.Header.Get("Content-Type")
	if len(t) > 255 {
		return ""
	}
	return strings.ToValidUTF8(t, "")
}

// keptHeaders are the headers of an upload that are stored with the object, as in S3.
var keptHeaders = []string{"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires"}

// kept returns the headers to store with the object. The coding aws-chunked belongs to
// the transfer, not to the object.
func kept(r *request) map[string]string {
	all := map[string]string{}
	for _, name := range keptHeaders {
		value := r.Header.Get(name)
		if name == "Content-Encoding" {
			codings := strings.Split(value, ",")
			codings = slices.DeleteFunc(codings, func(c string) bool { return strings.EqualFold(strings.TrimSpace(c), "aws-chunked") })
			value = strings.TrimSpace(strings.Join(codings, ","))
		}
		if value != "" {
			all[name] = value
		}
	}
	return all
}

// meta returns the caller's own metadata (x-amz-meta-*).
func meta(r *request) map[string]string {
	all := map[string]string{}
	for name := range r.Header {
		if own, ok := strings.CutPrefix(strings.ToLower(name), "x-amz-meta-"); ok {
			all[own] = r.Header.Get(name)
		}
	}
	return all
}

func quoted(etag string) string { return `"` + etag + `"` }

func unquoted(etag string) string { return strings.Trim(etag, `"`) }
