package build

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/archive"
	"github.com/musterhq/muster/internal/arn"
	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/patch"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/tag"
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

// Scripts are the scripts of a cell.
type Scripts struct {
	// Delete removes a script, by id or ARN, and its zip file, but never an object of the
	// caller's. Errors: NotFound.
	Delete *store.Action[string]

	st             *store.Store
	table          *store.Table[Script]
	create, update *store.Command[scriptArgs, *Script]
	home           arn.Home
	limits         archive.Limits
	quota          int // 0 means no limit
	events         *event.Log
	tags           *tag.Service
	objects        *object.Service
}

func newScripts(st *store.Store, d Deps, o Options) *Scripts {
	ss := &Scripts{st: st, home: o.Home, limits: o.Limits, quota: o.Quotas.Scripts, events: d.Events, tags: d.Tags, objects: d.Objects}
	ss.table = store.NewTable(st, store.TableSpec[Script]{Name: "script", Key: func(c *Script) string { return c.ID }})
	ss.create = store.NewCommand(st, "script.create", ss.runCreate)
	ss.update = store.NewCommand(st, "script.update", ss.runUpdate)
	ss.Delete = store.NewAction(st, "script.delete", ss.runDelete)
	// Only Create and Update put objects where scripts are stored.
	d.Objects.Guard(object.ScriptBucket, func(_ *store.Tx, o *object.Object) error {
		return fault.New(fault.AccessDenied, "Key: %s takes what CreateScript and UpdateScript bring, nothing else", o.Bucket)
	})
	d.Tags.Kind("script", func(r store.Reader, a string) bool { return ss.Get(r, a) != nil })
	return ss
}

// Get returns a script by id or ARN, or nil.
func (ss *Scripts) Get(r store.Reader, idOrARN string) *Script {
	return ss.table.Get(r, ss.home.ID("script", idOrARN))
}

// Find returns a script by id or ARN. Errors: NotFound.
func (ss *Scripts) Find(r store.Reader, idOrARN string) (*Script, error) {
	if c := ss.Get(r, idOrARN); c != nil {
		return c, nil
	}
	return nil, fault.Missing("ScriptId: script %s does not exist", idOrARN)
}

// All returns every script after an id, oldest first.
func (ss *Scripts) All(r store.Reader, after string) iter.Seq[*Script] {
	return ss.table.After(r, after)
}

// Place returns where a script's zip file is stored.
func (ss *Scripts) Place(c *Script) Location {
	return Location{
		Bucket: object.ScriptBucket,
		Key:    ss.home.Account + "/" + c.ID + "/" + strconv.Itoa(c.Edition),
	}
}

// ScriptInput describes a script to create, or the changes to one: then nil and empty
// members stay as they are.
type ScriptInput struct {
	ScriptID      string // of the script to change
	Name, Version *string
	Node          *string
	Zip           []byte    // the zip file itself
	Source        *Location // or an object stored here
	Tags          map[string]string
}

// scriptArgs are the arguments of the commands: the zip file is on disk by then.
type scriptArgs struct {
	ScriptInput
	Zip *object.Object // contents of the new zip file; nil keeps the old one
}

// Create creates a script from a zip file, passed or stored here. Errors:
// InvalidRequest (not exactly one of the two, not a sound zip), TaggingFailed.
func (ss *Scripts) Create(ctx context.Context, in ScriptInput) (*Script, error) {
	if (in.Zip == nil) == (in.Source == nil) {
		return nil, fault.Invalid("ZipFile, StorageLocation: exactly one of them is needed")
	}
	return ss.change(ctx, ss.create, in)
}

// Update changes a script; a new zip file replaces the old one. Errors:
// NotFound, InvalidRequest.
func (ss *Scripts) Update(ctx context.Context, in ScriptInput) (*Script, error) {
	if in.Zip != nil && in.Source != nil {
		return nil, fault.Invalid("ZipFile, StorageLocation: at most one of them may be given")
	}
	return ss.change(ctx, ss.update, in)
}

// change stores the zip file on disk and runs the command.
func (ss *Scripts) change(ctx context.Context, command *store.Command[scriptArgs, *Script], in ScriptInput) (*Script, error) {
	args := scriptArgs{ScriptInput: in}
	args.ScriptInput.Zip = nil
	if in.Zip != nil {
		return ss.changeWithZip(ctx, command, args, in.Zip)
	}
	if in.Source != nil {
		var err error
		if args.Zip, err = ss.storedZip(ctx, in.Source); err != nil {
			return nil, err
		}
	}
	return command.Do(ctx, args)
}

func (ss *Scripts) changeWithZip(ctx context.Context, command *store.Command[scriptArgs, *Script], args scriptArgs, zip []byte) (*Script, error) {
	if err := ss.checkZip(ctx, "ZipFile", bytes.NewReader(zip), int64(len(zip))); err != nil {
		return nil, err
	}
	content, err := ss.objects.Stage(bytes.NewReader(zip), int64(len(zip)))
	if err != nil {
		return nil, err
	}
	args.Zip = &object.Object{Parts: []blob.Ref{content.Ref}, Size: content.Size, ETag: content.MD5}
	c, err := command.Do(context.WithoutCancel(ctx), args)
	content.Settle(err)
	return c, err
}

func (ss *Scripts) storedZip(ctx context.Context, at *Location) (*object.Object, error) {
	o := ss.objects.Get(ss.st.View(), at.Bucket, at.Key)
	if o == nil || slices.Contains(object.Own(), at.Bucket) {
		return nil, noObject("resource", at)
	}
	file, err := ss.objects.Open(o)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return o, ss.checkZip(ctx, "StorageLocation", file, o.Size)
}

// noObject returns the error for a storage location without an object. Its message begins
// like AWS's, for a build or a resource, because Terraform retries for a while after
// exactly these messages.
func noObject(what string, at *Location) error {
	return fault.Invalid("Provided "+what+" is not accessible. StorageLocation: there is no object %s in bucket %s of this server; put it there over the S3 endpoint first", at.Key, at.Bucket)
}

func (ss *Scripts) checkZip(ctx context.Context, member string, r io.ReaderAt, size int64) error {
	report, err := inspect(ctx, r, size, ss.limits)
	if refusal, ok := errors.AsType[*archive.Refused](err); ok {
		return fault.Invalid("%s: %s", member, refusal.Reason)
	}
	if err == nil && report.Format != archive.Zip {
		return fault.Invalid("%s: a script is a zip file, this is a %s", member, report.Format)
	}
	return err
}

func (ss *Scripts) runCreate(tx *store.Tx, a scriptArgs) (*Script, error) {
	// LimitExceeded is not modeled for CreateScript.
	if q := ss.quota; q > 0 && ss.table.Len(tx) >= q {
		return nil, fault.Invalid("there are %d scripts; the quota is %d", ss.table.Len(tx), q)
	}
	c := &Script{ID: tx.ID("script-"), Node: DefaultNode, Created: tx.Now()}
	patch.Set(&c.Node, a.Node)
	if err := checkNode(c.Node); err != nil {
		return nil, err
	}
	if err := ss.tags.Put(tx, ss.home.Of("script", c.ID), a.Tags); err != nil {
		return nil, err
	}
	if err := ss.apply(tx, c, a); err != nil {
		return nil, err
	}
	ss.record(tx, event.ScriptCreated, c.ID, "Script "+c.ID+" was created")
	return c, nil
}

func (ss *Scripts) runUpdate(tx *store.Tx, a scriptArgs) (*Script, error) {
	found, err := ss.Find(tx, a.ScriptID)
	if err != nil {
		return nil, err
	}
	c := *found
	if err := ss.apply(tx, &c, a); err != nil {
		return nil, err
	}
	ss.record(tx, event.ScriptUpdated, c.ID, "Script "+c.ID+" was updated")
	return &c, nil
}

// apply applies the given members and stores the script.
func (ss *Scripts) apply(tx *store.Tx, c *Script, a scriptArgs) error {
	patch.Set(&c.Name, a.Name)
	patch.Set(&c.Version, a.Version)
	if a.Zip != nil {
		if err := ss.replaceZip(tx, c, a); err != nil {
			return err
		}
	}
	ss.table.Put(tx, c)
	return nil
}

func (ss *Scripts) replaceZip(tx *store.Tx, c *Script, a scriptArgs) error {
	if a.Source != nil {
		now := ss.objects.Get(tx, a.Source.Bucket, a.Source.Key)
		if now == nil || !slices.Equal(now.Parts, a.Zip.Parts) {
			return noObject("resource", a.Source) // deleted or replaced since it was read
		}
	}
	if c.Edition > 0 {
		old := ss.Place(c)
		ss.objects.DeleteIn(tx, old.Bucket, old.Key)
	}
	c.Edition++
	c.Source, c.Size = a.Source, a.Zip.Size
	at := ss.Place(c)
	o := *a.Zip
	o.Bucket, o.Key, o.ContentType, o.Headers = at.Bucket, at.Key, "application/zip", nil
	ss.objects.PutIn(tx, &o)
	return nil
}

func (ss *Scripts) runDelete(tx *store.Tx, idOrARN string) error {
	c, err := ss.Find(tx, idOrARN)
	if err != nil {
		return err
	}
	at := ss.Place(c)
	ss.objects.DeleteIn(tx, at.Bucket, at.Key)
	ss.table.Delete(tx, c.ID)
	ss.tags.Drop(tx, ss.home.Of("script", c.ID))
	ss.record(tx, event.ScriptDeleted, c.ID, "Script "+c.ID+" was deleted")
	return nil
}

func (ss *Scripts) record(tx *store.Tx, code event.Code, id, text string) {
	ss.events.Append(tx, event.Event{Code: code, Resource: ss.home.Of("script", id), Message: text})
}
