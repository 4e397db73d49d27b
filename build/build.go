package build

import (
	"strings"
	"time"
)

// Build is a game server's archive and its metadata.
type Build struct {
	ID         string    `json:"id"`
	Name       string    `json:"name,omitzero"`
	Version    string    `json:"version,omitzero"`
	OS         string    `json:"os"`          // the API's OperatingSystem
	SDKVersion string    `json:"sdk_version"` // of the server SDK it was built with
	Status     Status    `json:"status"`
	Reason     string    `json:"reason,omitzero"` // why it is FAILED
	Created    time.Time `json:"created"`

	Due     time.Time `json:"due,omitzero"`     // when an INITIALIZED build fails for lack of its archive
	Arrived time.Time `json:"arrived,omitzero"` // when its archive arrived
	Copied  bool      `json:"copied,omitzero"`  // from an object of the caller's (StorageLocation)
	Source  *Location `json:"source,omitzero"`  // what it was copied from
	Deleted time.Time `json:"deleted,omitzero"` // hidden; its archive is removed with the last fleet

	// Members of a READY build:
	Format   string `json:"format,omitzero"` // zip, tar or tar.gz
	SHA256   string `json:"sha256,omitzero"` // of the archive, lower case hexadecimal
	Size     int64  `json:"size,omitzero"`   // of the archive in bytes
	Files    int    `json:"files,omitzero"`
	Unpacked int64  `json:"unpacked,omitzero"` // bytes
}

// Location names an object (the API's S3Location).
type Location struct {
	Bucket  string `json:"bucket"`
	Key     string `json:"key"`
	RoleARN string `json:"role_arn,omitzero"` // kept as given; nothing here assumes roles
	Version string `json:"version,omitzero"`
}

// SizeOnDisk returns the size that the API shows: 0 before READY, and for a build
// copied from the caller's own bucket (API reference, Build).
func (b *Build) SizeOnDisk() int64 {
	if b.Copied {
		return 0
	}
	return b.Size
}

func (b *Build) clone() *Build { c := *b; return &c }

// legacy returns what an event adds about a build for a server SDK that cannot be
// hosted. The build may well be for Server SDK 5 if its upload stated no version.
func (b *Build) legacy() string {
	if major, _, _ := strings.Cut(b.SDKVersion, "."); major != "3" && major != "4" {
		return ""
	}
	return "; it says ServerSdkVersion " + b.SDKVersion + " (" + DefaultSDKVersion + " where none is told): a game server on Server SDK 3 or 4 has to be ported to Server SDK 5"
}

// DefaultSDKVersion is the version of a build that states none (API reference,
// CreateBuild).
const DefaultSDKVersion = "4.0.2"
