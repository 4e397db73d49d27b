package uploads

import (
	"encoding/xml"
	"io"
	"net/http"
	"strconv"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/internal/fault"
)

// namespace is the XML namespace of S3's documents.
const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// beginUpload serves CreateMultipartUpload.
func (s *Server) beginUpload(r *request) error {
	u, err := s.Objects.Begin.Do(r.Context(), object.Upload{Bucket: r.bucket, Key: r.key, ContentType: contentType(r), Headers: kept(r), Meta: meta(r)})
	if err != nil {
		return err
	}
	writeXML(r, http.StatusOK, struct {
		XMLName     xml.Name `xml:"InitiateMultipartUploadResult"`
		Namespace   string   `xml:"xmlns,attr"`
		Bucket, Key string
		UploadID    string `xml:"UploadId"`
	}{Namespace: namespace, Bucket: u.Bucket, Key: u.Key, UploadID: u.ID})
	return nil
}

// upload returns the upload that a request names.
func (s *Server) upload(r *request) (*object.Upload, error) {
	u, err := s.Objects.Upload(s.Store.View(), r.URL.Query().Get("uploadId"), r.bucket, r.key)
	if err != nil {
		return nil, errNoUpload
	}
	return u, nil
}

// putPart serves UploadPart.
func (s *Server) putPart(r *request) error {
	u, err := s.upload(r)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
	if err != nil || number < 1 || number > object.MaxParts {
		return errArgument("partNumber: must be 1 to " + strconv.Itoa(object.MaxParts))
	}
	content, sums, err := s.receive(r)
	if err != nil {
		return err
	}
	part := object.Part{UploadID: u.ID, Number: number, Checksums: sums.want}
	if err := s.Objects.AddPart(r.Context(), part, content); err != nil {
		return notFound(err, errNoUpload)
	}
	r.w.Header().Set("ETag", quoted(content.MD5))
	sums.tell(r.w.Header())
	r.w.WriteHeader(http.StatusOK)
	return nil
}

// notFound returns as if err is a fault of kind NotFound, otherwise err.
func notFound(err error, as s3Error) error {
	if fault.Is(err, fault.NotFound) {
		return as
	}
	return err
}

// listedPart is a part as clients list it.
type listedPart struct {
	PartNumber        int
	ETag              string
	ChecksumCRC32     string `xml:",omitempty"`
	ChecksumCRC32C    string `xml:",omitempty"`
	ChecksumCRC64NVME string `xml:",omitempty"`
	ChecksumSHA1      string `xml:",omitempty"`
	ChecksumSHA256    string `xml:",omitempty"`
}

func (p listedPart) checksums() map[string]string {
	return map[string]string{
		"crc32": p.ChecksumCRC32, "crc32c": p.ChecksumCRC32C, "crc64nvme": p.ChecksumCRC64NVME,
		"sha1": p.ChecksumSHA1, "sha256": p.ChecksumSHA256,
	}
}

// maxCompletion bounds the body of CompleteMultipartUpload, in bytes: enough for 10,000
// parts, each with a checksum.
const maxCompletion = 4 << 20

// completeUpload serves CompleteMultipartUpload.
func (s *Server) completeUpload(r *request) error {
	u, err := s.upload(r)
	if err != nil {
		return err
	}
	chosen, err := s.readCompletion(r, u)
	if err != nil {
		return err
	}
	o, err := s.Objects.Complete.Do(r.Context(), object.Completion{UploadID: u.ID, Parts: chosen})
	if err != nil {
		return notFound(err, errNoUpload)
	}
	writeXML(r, http.StatusOK, struct {
		XMLName                     xml.Name `xml:"CompleteMultipartUploadResult"`
		Namespace                   string   `xml:"xmlns,attr"`
		Location, Bucket, Key, ETag string
	}{Namespace: namespace, Location: s.Base + r.URL.EscapedPath(), Bucket: o.Bucket, Key: o.Key, ETag: quoted(o.ETag)})
	return nil
}

// readCompletion returns the parts that make up the object, and compares their repeated
// checksums.
func (s *Server) readCompletion(r *request, u *object.Upload) ([]object.Chosen, error) {
	if kind := r.Header.Get("X-Amz-Checksum-Type"); kind == "FULL_OBJECT" {
		return nil, errNotImplemented("a checksum of the whole object (x-amz-checksum-type: FULL_OBJECT)")
	}
	var body struct {
		XMLName xml.Name     `xml:"CompleteMultipartUpload"`
		Parts   []listedPart `xml:"Part"`
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxCompletion+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxCompletion || xml.Unmarshal(raw, &body) != nil || len(body.Parts) > object.MaxParts {
		return nil, errXML
	}
	have := map[int]*object.Part{}
	for p := range s.Objects.Parts(s.Store.View(), u.ID) {
		have[p.Number] = p
	}
	chosen := make([]object.Chosen, 0, len(body.Parts))
	for _, p := range body.Parts {
		part := have[p.PartNumber]
		if part == nil || part.MD5 != unquoted(p.ETag) || !agrees(part, p) {
			return nil, s3Error{http.StatusBadRequest, "InvalidPart", "part " + strconv.Itoa(p.PartNumber) + " was not sent, or is not what was sent"}
		}
		chosen = append(chosen, object.Chosen{Number: p.PartNumber, MD5: part.MD5})
	}
	return chosen, nil
}

// agrees reports whether the repeated checksums are those of the part.
func agrees(part *object.Part, again listedPart) bool {
	for algorithm, sum := range again.checksums() {
		if had := part.Checksums[algorithm]; sum != "" && had != "" && had != sum {
			return false
		}
	}
	return true
}

// abortUpload serves AbortMultipartUpload.
func (s *Server) abortUpload(r *request) error {
	u, err := s.upload(r)
	if err != nil {
		return err
	}
	if err := s.Objects.Abort.Do(r.Context(), u.ID); err != nil {
		return err
	}
	r.w.WriteHeader(http.StatusNoContent)
	return nil
}

// listParts serves ListParts.
func (s *Server) listParts(r *request) error {
	u, err := s.upload(r)
	if err != nil {
		return err
	}
	size, err := pageSize(r, "max-parts")
	if err != nil {
		return err
	}
	after, _ := strconv.Atoi(r.URL.Query().Get("part-number-marker"))
	type part struct {
		PartNumber         int
		LastModified, ETag string
		Size               int64
	}
	out := struct {
		XMLName              xml.Name `xml:"ListPartsResult"`
		Namespace            string   `xml:"xmlns,attr"`
		Bucket, Key          string
		UploadID             string `xml:"UploadId"`
		NextPartNumberMarker int
		MaxParts             int
		IsTruncated          bool
		Parts                []part `xml:"Part"`
	}{Namespace: namespace, Bucket: u.Bucket, Key: u.Key, UploadID: u.ID, MaxParts: size}
	for p := range s.Objects.Parts(s.Store.View(), u.ID) {
		if p.Number <= after {
			continue
		}
		if len(out.Parts) == size {
			out.IsTruncated = true
			break
		}
		out.Parts = append(out.Parts, part{p.Number, stamp(p.Modified), quoted(p.MD5), p.Content.Size})
		out.NextPartNumberMarker = p.Number
	}
	writeXML(r, http.StatusOK, out)
	return nil
}
