package uploads

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/internal/awsrpc/sigv4"
	"github.com/musterhq/muster/internal/fault"
)

// caller is the sender of a request.
type caller struct {
	name   string            // for the log and the audit log
	key    auth.Caller       // owner of the access key that signed; the zero Caller if Muster signed
	free   bool              // may do everything: an operator, or a URL signed for this request
	grant  *auth.UploadGrant // allows uploading one object
	chunks *sigv4.Chunks     // checks the chunks of the body; nil if they are not signed
}

// identify authenticates the sender of a request by its signature.
func (s *Server) identify(r *http.Request) (caller, error) {
	id, inQuery := keyID(r)
	if _, _, ours := s.issued(id); s.Anyone && !ours {
		return caller{name: auth.Anybody().Actor(), free: true}, nil
	}
	payload := r.Header.Get("X-Amz-Content-Sha256")
	switch {
	case id == "":
		return caller{}, errAccess("requests must be signed")
	case inQuery:
		signer, err := s.verifier.Query(r, sigv4.UnsignedPayload, time.Now())
		if err != nil {
			return caller{}, err
		}
		return s.principal(signer)
	case payload == "":
		return caller{}, errArgument("header x-amz-content-sha256: is required")
	}
	signer, chunks, err := s.verifier.Stream(r, payload, time.Now())
	if err != nil {
		return caller{}, err
	}
	c, err := s.principal(signer)
	c.chunks = chunks
	return c, err
}

// keyID returns the access key id that a request claims, "" if it is not signed.
func keyID(r *http.Request) (id string, inQuery bool) {
	if credential := r.URL.Query().Get("X-Amz-Credential"); credential != "" {
		id, _, _ = strings.Cut(credential, "/")
		return id, true
	}
	_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	id, _, _ = strings.Cut(rest, "/")
	return id, false
}

// issued returns the secret of an access key that Muster itself issued, and what its
// caller may do; ok is false for other keys.
func (s *Server) issued(id string) (secret sigv4.Secret, c caller, ok bool) {
	if signer, key := s.Master.Signer(); id == signer {
		return sigv4.Secret{Key: key}, caller{name: id, free: true}, true
	}
	t, grant, ok := s.Master.Upload(id)
	return sigv4.Secret{Key: t.SecretAccessKey, SessionToken: t.SessionToken}, caller{name: id, grant: &grant}, ok
}

// secret returns the secret of an access key id.
func (s *Server) secret(id string) (sigv4.Secret, bool) {
	if secret, _, ok := s.issued(id); ok {
		return secret, true
	}
	secret, ok := s.Keys.Secret(id)
	return sigv4.Secret{Key: secret}, ok
}

// principal returns the caller for a valid signature.
func (s *Server) principal(id sigv4.Identity) (caller, error) {
	if s.Several && id.Region != s.Region {
		return caller{}, errAccess(fmt.Sprintf("the request is signed for region %.64q and not for %s", id.Region, s.Region))
	}
	if _, c, ok := s.issued(id.AccessKeyID); ok {
		if c.grant != nil && time.Now().After(c.grant.Expires) {
			return caller{}, s3Error{http.StatusBadRequest, "ExpiredToken", "the credentials expired; get new ones with RequestUploadCredentials"}
		}
		return c, nil
	}
	signer, err := s.Keys.Caller(id.AccessKeyID)
	if err != nil {
		return caller{}, err
	}
	s.Keys.Used(signer.KeyID)
	if err := signer.May(auth.ManageFiles); err != nil {
		return caller{}, err
	}
	return caller{name: id.AccessKeyID, key: signer, free: true}, nil
}

// allow returns an error if the caller may not perform what. Temporary credentials only
// allow uploading one object.
func (s *Server) allow(r *request, what action) error {
	if r.caller.free {
		return nil
	}
	if g := r.caller.grant; g != nil && what == bring {
		at := s.Builds.Place(&build.Build{ID: g.BuildID})
		if r.bucket == at.Bucket && r.key == at.Key {
			return nil
		}
	}
	return errAccess("these credentials are good for sending the archive of one build, nothing else")
}

// uploadLife is how long temporary credentials are valid: long enough for tens of
// gigabytes over a slow line, since clients do not renew them during an upload.
const uploadLife = 3 * time.Hour

// Credentials returns credentials for uploading the archive of a build.
func (s *Server) Credentials(buildID string) (auth.Temporary, error) {
	t, ok := s.Master.IssueUpload(auth.UploadGrant{BuildID: buildID, Expires: time.Now().Add(uploadLife)})
	if !ok {
		return auth.Temporary{}, fault.Missing("BuildId: %s is no build's id", buildID)
	}
	return t, nil
}

// Presign returns a URL that allows anyone who has it one method on one object, for the
// given time.
func (s *Server) Presign(method, bucket, key string, life time.Duration) (string, error) {
	id, secret := s.Master.Signer()
	return sigv4.Presign(sigv4.Grant{
		Method: method, Base: s.Base, Path: "/" + bucket + "/" + key, AccessKeyID: id, Secret: secret,
		Region: s.Region, Service: "s3", Life: life,
	}, time.Now())
}
