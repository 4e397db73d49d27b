package build

import (
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Script is a zip file of JavaScript and its metadata.
type Script struct {
	ID      string    `json:"id"`
	Name    string    `json:"name,omitzero"`
	Version string    `json:"version,omitzero"`
	Node    string    `json:"node"` // version of Node.js
	Created time.Time `json:"created"`
	Size    int64     `json:"size"`            // of the zip file in bytes
	Edition int       `json:"edition"`         // counts its zip files, from 1
	Source  *Location `json:"source,omitzero"` // what it was copied from; nil: it came with the request
}

// SizeOnDisk returns the size that the API shows: 0 for a script copied from the
// caller's own bucket (API reference, Script).
func (c *Script) SizeOnDisk() int64 {
	if c.Source != nil {
		return 0
	}
	return c.Size
}

// DefaultNode is the Node.js version of a script that states none (API reference,
// CreateScript).
const DefaultNode = "10.x"

// nodes are the versions that the API accepts.
var nodes = []string{"10.x", "24.x"}

func checkNode(version string) error {
	if !slices.Contains(nodes, version) {
		return fault.Invalid("NodeJsVersion: %q is none of %v", version, nodes)
	}
	return nil
}

// Script returns a script by id or ARN, or nil.
func (s *Service) Script(r store.Reader, idOrARN string) *Script {
	return s.t.scripts.Get(r, s.opts.Home.ID("script", idOrARN))
}

// FindScript returns a script by id or ARN. Errors: NotFound.
func (s *Service) FindScript(r store.Reader, idOrARN string) (*Script, error) {
	if c := s.Script(r, idOrARN); c != nil {
		return c, nil
	}
	return nil, fault.Missing("ScriptId: script %s does not exist", idOrARN)
}

// Scripts returns every script after an id, oldest first.
func (s *Service) Scripts(r store.Reader, after string) iter.Seq[*Script] {
	return s.t.scripts.After(r, after)
}

// ScriptPlace returns where a script's zip file is stored.
func (s *Service) ScriptPlace(c *Script) Location {
	return Location{
		Bucket: object.ScriptBucket,
		Key:    s.opts.Home.Account + "/" + c.ID + "/" + strconv.Itoa(c.Edition),
	}
}

// ownOnly keeps others from putting objects where scripts are stored: only
// CreateScript and UpdateScript do.
func (s *Service) ownOnly(_ *store.Tx, o *object.Object) error {
	return fault.New(fault.AccessDenied, "Key: %s takes what CreateScript and UpdateScript bring, nothing else", o.Bucket)
}
