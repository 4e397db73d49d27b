package auth

import (
	"testing"
	"time"
)

const someBuild = "build-01234567-89ab-cdef-0123-456789abcdef"

func master(t testing.TB) *Master {
	m, err := NewMaster(make([]byte, MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Credentials contain their grant, and can only be created with the master key.
func TestUpload_Issue(t *testing.T) {
	t.Parallel()
	m := master(t)
	until := time.Unix(1_800_000_000, 0)
	made, ok := m.IssueUpload(UploadGrant{BuildID: someBuild, Expires: until})
	if !ok {
		t.Fatal("refused")
	}
	back, grant, ok := m.Upload(made.AccessKeyID)
	if !ok || back != made || grant.BuildID != someBuild || !grant.Expires.Equal(until) {
		t.Errorf("%+v, %+v, %t", back, grant, ok)
	}
	again, _ := m.IssueUpload(UploadGrant{BuildID: someBuild, Expires: until})
	if again.AccessKeyID == made.AccessKeyID || again.SecretAccessKey == made.SecretAccessKey {
		t.Error("two credentials are the same")
	}
	key := make([]byte, MasterKeySize)
	key[0] = 1
	other, err := NewMaster(key)
	if err != nil {
		t.Fatal(err)
	}
	if theirs, _, _ := other.Upload(made.AccessKeyID); theirs.SecretAccessKey == made.SecretAccessKey || theirs.SessionToken == made.SessionToken {
		t.Error("another deployment knows the secret")
	}
	for _, id := range []string{"", "build-", "fleet-01234567-89ab-cdef-0123-456789abcdef", "build-x"} {
		if _, ok := m.IssueUpload(UploadGrant{BuildID: id, Expires: until}); ok {
			t.Errorf("credentials for %q", id)
		}
	}
}

// FuzzUpload decodes arbitrary access key ids: one that is accepted names a build and a
// time, and is the only spelling of them.
func FuzzUpload(f *testing.F) {
	m := master(f)
	made, _ := m.IssueUpload(UploadGrant{BuildID: someBuild, Expires: time.Unix(1_800_000_000, 0)})
	f.Add(made.AccessKeyID)
	f.Add("AKIAIOSFODNN7EXAMPLE")
	f.Add("MSTU")
	f.Fuzz(func(t *testing.T, id string) {
		back, grant, ok := m.Upload(id)
		if !ok {
			return
		}
		if back.AccessKeyID != id || len(grant.BuildID) != len(someBuild) || back.SecretAccessKey == "" || back.SecretAccessKey == back.SessionToken {
			t.Fatalf("%q: %+v, %+v", id, back, grant)
		}
	})
}
