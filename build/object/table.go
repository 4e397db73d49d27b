package object

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/store"
)

// tables are the package's rows and indexes.
type tables struct {
	objects *store.Table[Object]
	uploads *store.Table[Upload]
	parts   *store.Table[Part]

	objectsWith *store.Index[Object]    // by content
	partsWith   *store.Index[Part]      // by content
	partsOf     *store.Index[Part]      // by upload
	expiring    *store.DueIndex[Object] // by time
	closing     *store.DueIndex[Upload] // by time
}

func newTables(st *store.Store, uploadLife time.Duration) tables {
	var t tables
	t.objects = store.NewTable(st, store.TableSpec[Object]{
		Name: "object", Key: func(o *Object) string { return path(o.Bucket, o.Key) },
	})
	t.uploads = store.NewTable(st, store.TableSpec[Upload]{
		Name: "upload", Key: func(u *Upload) string { return u.ID },
	})
	t.parts = store.NewTable(st, store.TableSpec[Part]{
		Name: "upload_part", Key: func(p *Part) string { return partKey(p.UploadID, p.Number) },
	})
	t.objectsWith = store.NewIndex(t.objects, "content", func(o *Object, emit func(string)) {
		for _, p := range o.Parts {
			emit(p.SHA256)
		}
	})
	t.partsWith = store.NewIndex(t.parts, "content", func(p *Part, emit func(string)) { emit(p.Content.SHA256) })
	t.partsOf = store.NewIndex(t.parts, "upload", func(p *Part, emit func(string)) { emit(p.UploadID) })
	t.expiring = store.NewDueIndex(t.objects, "expires", func(o *Object) time.Time { return o.Expires })
	t.closing = store.NewDueIndex(t.uploads, "closes", func(u *Upload) time.Time { return u.Begun.Add(uploadLife) })
	return t
}

func partKey(uploadID string, number int) string { return fmt.Sprintf("%s/%05d", uploadID, number) }
