package object

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"iter"
	"time"

	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Upload is a multipart upload that is not complete.
type Upload struct {
	ID          string            `json:"id"`
	Bucket      string            `json:"bucket"`
	Key         string            `json:"key"`
	ContentType string            `json:"content_type,omitzero"`
	Headers     map[string]string `json:"headers,omitempty"`
	Meta        map[string]string `json:"meta,omitempty"`
	Begun       time.Time         `json:"begun"`
	Size        int64             `json:"size"` // of the parts so far
}

// Part is a part of an upload.
type Part struct {
	UploadID  string            `json:"upload_id"`
	Number    int               `json:"number"` // 1 to MaxParts
	Content   blob.Ref          `json:"content"`
	MD5       string            `json:"md5"`                 // hexadecimal: its ETag
	Checksums map[string]string `json:"checksums,omitempty"` // base64, by algorithm: those that the sender stated and that were verified
	Modified  time.Time         `json:"modified"`
}

func (s *Service) runBegin(tx *store.Tx, u Upload) (*Upload, error) {
	if err := s.check(tx, &Object{Bucket: u.Bucket, Key: u.Key, Headers: u.Headers, Meta: u.Meta}); err != nil {
		return nil, err
	}
	if s.uploads.Len(tx) >= maxUploads {
		return nil, fault.New(fault.LimitExceeded, "%d uploads in parts are open; complete or abort some", maxUploads)
	}
	u.ID, u.Begun, u.Size = tx.ID(""), tx.Now(), 0
	s.uploads.Put(tx, &u)
	s.nudgeFor(tx, u.Begun.Add(s.opts.UploadLife))
	return &u, nil
}

// Upload returns an open upload of that object. Errors: NotFound.
func (s *Service) Upload(r store.Reader, id, bucket, key string) (*Upload, error) {
	if id != "" {
		if u := s.uploads.Get(r, id); u != nil && u.Bucket == bucket && u.Key == key {
			return u, nil
		}
	}
	return nil, fault.Missing("UploadId: there is no such upload; it was completed or aborted, or ran out of time")
}

// AddPart stores a part with a staged content, replacing one of the same number.
// AddPart settles the content, and completes even if ctx ends. Errors: NotFound,
// InvalidRequest (number, size).
func (s *Service) AddPart(ctx context.Context, p Part, content *Content) error {
	p.Content, p.MD5 = content.Ref, content.MD5
	err := s.cmd.addPart.Do(context.WithoutCancel(ctx), p)
	content.Settle(err)
	return err
}

func (s *Service) runAddPart(tx *store.Tx, p Part) error {
	if p.Number < 1 || p.Number > MaxParts {
		return fault.Invalid("PartNumber: must be 1 to %d", MaxParts)
	}
	u := s.uploads.Get(tx, p.UploadID)
	if u == nil {
		return fault.Missing("UploadId: the upload was completed or aborted meanwhile")
	}
	grown := *u
	grown.Size += p.Content.Size
	if old := s.parts.Get(tx, partKey(p.UploadID, p.Number)); old != nil {
		grown.Size -= old.Content.Size
		s.discard(tx, []blob.Ref{old.Content})
	}
	if grown.Size > s.opts.MaxSize {
		return fault.Invalid("the parts have %d bytes; at most %d are allowed", grown.Size, s.opts.MaxSize)
	}
	p.Modified = tx.Now()
	s.uploads.Put(tx, &grown)
	s.parts.Put(tx, &p)
	return nil
}

// Parts returns an upload's parts, by number.
func (s *Service) Parts(r store.Reader, uploadID string) iter.Seq[*Part] {
	return s.partsOf.Equal(r, uploadID)
}

// Chosen identifies a part that a Completion includes.
type Chosen struct {
	Number int
	MD5    string // hexadecimal
}

// Completion completes an upload.
type Completion struct {
	UploadID string
	Parts    []Chosen
}

func (s *Service) runComplete(tx *store.Tx, c Completion) (*Object, error) {
	u := s.uploads.Get(tx, c.UploadID)
	if u == nil {
		return nil, fault.Missing("UploadId: the upload was completed or aborted meanwhile")
	}
	o := &Object{Bucket: u.Bucket, Key: u.Key, ContentType: u.ContentType, Headers: u.Headers, Meta: u.Meta}
	if err := s.assemble(tx, o, c); err != nil {
		return nil, err
	}
	if err := s.check(tx, o); err != nil {
		return nil, err
	}
	if err := s.admit(tx, o); err != nil {
		return nil, err
	}
	s.PutIn(tx, o)
	s.forgetUpload(tx, u)
	return o, nil
}

// assemble fills an object with the chosen parts.
func (s *Service) assemble(tx *store.Tx, o *Object, c Completion) error {
	if len(c.Parts) == 0 {
		return fault.Invalid("Part: at least one is needed")
	}
	sums := md5.New()
	last := 0
	for _, chosen := range c.Parts {
		if chosen.Number <= last {
			return fault.Invalid("PartNumber: %d follows %d; they must rise", chosen.Number, last)
		}
		last = chosen.Number
		p := s.parts.Get(tx, partKey(c.UploadID, chosen.Number))
		if p == nil || p.MD5 != chosen.MD5 {
			return fault.Invalid("Part: number %d was not uploaded with this ETag", chosen.Number)
		}
		raw, _ := hex.DecodeString(p.MD5)
		sums.Write(raw)
		o.Parts = append(o.Parts, p.Content)
		o.Size += p.Content.Size
	}
	o.ETag = fmt.Sprintf("%x-%d", sums.Sum(nil), len(c.Parts))
	return nil
}

func (s *Service) runAbort(tx *store.Tx, id string) error {
	if u := s.uploads.Get(tx, id); u != nil {
		s.forgetUpload(tx, u)
	}
	return nil
}

func (s *Service) forgetUpload(tx *store.Tx, u *Upload) {
	for p := range s.Parts(tx, u.ID) {
		s.parts.Delete(tx, partKey(p.UploadID, p.Number))
		s.discard(tx, []blob.Ref{p.Content})
	}
	s.uploads.Delete(tx, u.ID)
}

// clear drops the uploads of a bucket. Errors: Conflict (it has objects).
func (s *Service) clear(tx *store.Tx, bucket string) error {
	for range s.List(tx, bucket, "", "") {
		return fault.New(fault.Conflict, "Bucket: %s is not empty", bucket)
	}
	for u := range s.uploads.All(tx) {
		if u.Bucket == bucket {
			s.forgetUpload(tx, u)
		}
	}
	return nil
}
