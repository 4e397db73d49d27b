package build

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/archive"
	"github.com/musterhq/muster/internal/blob"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

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

// CreateScript creates a script from a zip file, passed or stored here. Errors:
// InvalidRequest (not exactly one of the two, not a sound zip), TaggingFailed.
func (s *Service) CreateScript(ctx context.Context, in ScriptInput) (*Script, error) {
	if (in.Zip == nil) == (in.Source == nil) {
		return nil, fault.Invalid("ZipFile, StorageLocation: exactly one of them is needed")
	}
	return s.changeScript(ctx, s.cmd.createScript, in)
}

// UpdateScript changes a script; a new zip file replaces the old one. Errors:
// NotFound, InvalidRequest.
func (s *Service) UpdateScript(ctx context.Context, in ScriptInput) (*Script, error) {
	if in.Zip != nil && in.Source != nil {
		return nil, fault.Invalid("ZipFile, StorageLocation: at most one of them may be given")
	}
	return s.changeScript(ctx, s.cmd.updateScript, in)
}

// changeScript stores the zip file on disk and runs the command.
func (s *Service) changeScript(ctx context.Context, command *store.Command[scriptArgs, *Script], in ScriptInput) (*Script, error) {
	args := scriptArgs{ScriptInput: in}
	args.ScriptInput.Zip = nil
	if in.Zip != nil {
		return s.changeWithZip(ctx, command, args, in.Zip)
	}
	if in.Source != nil {
		var err error
		if args.Zip, err = s.storedZip(ctx, in.Source); err != nil {
			return nil, err
		}
	}
	return command.Do(ctx, args)
}

func (s *Service) changeWithZip(ctx context.Context, command *store.Command[scriptArgs, *Script], args scriptArgs, zip []byte) (*Script, error) {
	if err := s.checkZip(ctx, "ZipFile", bytes.NewReader(zip), int64(len(zip))); err != nil {
		return nil, err
	}
	content, err := s.objects.Stage(bytes.NewReader(zip), int64(len(zip)))
	if err != nil {
		return nil, err
	}
	args.Zip = &object.Object{Parts: []blob.Ref{content.Ref}, Size: content.Size, ETag: content.MD5}
	c, err := command.Do(context.WithoutCancel(ctx), args)
	content.Settle(err)
	return c, err
}

func (s *Service) storedZip(ctx context.Context, at *Location) (*object.Object, error) {
	o := s.objects.Get(s.st.View(), at.Bucket, at.Key)
	if o == nil || slices.Contains(object.Own(), at.Bucket) {
		return nil, noObject("resource", at)
	}
	file, err := s.objects.Open(o)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return o, s.checkZip(ctx, "StorageLocation", file, o.Size)
}

// noObject refuses a storage location. Its message begins like AWS's, for a build or
// a resource, because Terraform retries for a while after exactly these messages.
func noObject(what string, at *Location) error {
	return fault.Invalid("Provided "+what+" is not accessible. StorageLocation: there is no object %s in bucket %s of this server; put it there over the S3 endpoint first", at.Key, at.Bucket)
}

func (s *Service) checkZip(ctx context.Context, member string, r io.ReaderAt, size int64) error {
	report, err := inspect(ctx, r, size, s.opts.Limits)
	if refusal, ok := errors.AsType[*archive.Refused](err); ok {
		return fault.Invalid("%s: %s", member, refusal.Reason)
	}
	if err == nil && report.Format != archive.Zip {
		return fault.Invalid("%s: a script is a zip file, this is a %s", member, report.Format)
	}
	return err
}

func (s *Service) runCreateScript(tx *store.Tx, a scriptArgs) (*Script, error) {
	// LimitExceeded is not modeled for CreateScript.
	if q := s.opts.Quotas.Scripts; q > 0 && s.t.scripts.Len(tx) >= q {
		return nil, fault.Invalid("there are %d scripts; the quota is %d", s.t.scripts.Len(tx), q)
	}
	c := &Script{ID: tx.ID("script-"), Node: DefaultNode, Created: tx.Now()}
	if a.Node != nil {
		c.Node = *a.Node
	}
	if err := checkNode(c.Node); err != nil {
		return nil, err
	}
	if err := s.tags.Put(tx, s.opts.Home.Of("script", c.ID), a.Tags); err != nil {
		return nil, err
	}
	if err := s.applyScript(tx, c, a); err != nil {
		return nil, err
	}
	s.record(tx, event.ScriptCreated, "script", c.ID, "Script "+c.ID+" was created")
	return c, nil
}

func (s *Service) runUpdateScript(tx *store.Tx, a scriptArgs) (*Script, error) {
	found, err := s.FindScript(tx, a.ScriptID)
	if err != nil {
		return nil, err
	}
	c := *found
	if err := s.applyScript(tx, &c, a); err != nil {
		return nil, err
	}
	s.record(tx, event.ScriptUpdated, "script", c.ID, "Script "+c.ID+" was updated")
	return &c, nil
}

// applyScript applies the given members and stores the script.
func (s *Service) applyScript(tx *store.Tx, c *Script, a scriptArgs) error {
	if a.Name != nil {
		c.Name = *a.Name
	}
	if a.Version != nil {
		c.Version = *a.Version
	}
	if a.Zip != nil {
		if err := s.replaceZip(tx, c, a); err != nil {
			return err
		}
	}
	s.t.scripts.Put(tx, c)
	return nil
}

func (s *Service) replaceZip(tx *store.Tx, c *Script, a scriptArgs) error {
	if a.Source != nil {
		now := s.objects.Get(tx, a.Source.Bucket, a.Source.Key)
		if now == nil || !slices.Equal(now.Parts, a.Zip.Parts) {
			return noObject("resource", a.Source) // deleted or replaced since it was read
		}
	}
	if c.Edition > 0 {
		old := s.ScriptPlace(c)
		s.objects.DeleteIn(tx, old.Bucket, old.Key)
	}
	c.Edition++
	c.Source, c.Size = a.Source, a.Zip.Size
	at := s.ScriptPlace(c)
	o := *a.Zip
	o.Bucket, o.Key, o.ContentType, o.Headers = at.Bucket, at.Key, "application/zip", nil
	s.objects.PutIn(tx, &o)
	return nil
}

// DeleteScript removes a script and its zip file, but never an object of the
// caller's. Errors: NotFound.
func (s *Service) DeleteScript(ctx context.Context, idOrARN string) error {
	_, err := s.cmd.deleteScript.Do(ctx, idOrARN)
	return err
}

func (s *Service) runDeleteScript(tx *store.Tx, idOrARN string) (struct{}, error) {
	c, err := s.FindScript(tx, idOrARN)
	if err != nil {
		return struct{}{}, err
	}
	at := s.ScriptPlace(c)
	s.objects.DeleteIn(tx, at.Bucket, at.Key)
	s.t.scripts.Delete(tx, c.ID)
	s.tags.Drop(tx, s.opts.Home.Of("script", c.ID))
	s.record(tx, event.ScriptDeleted, "script", c.ID, "Script "+c.ID+" was deleted")
	return struct{}{}, nil
}
