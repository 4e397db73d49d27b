package app

import (
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/musterhq/muster/admin"
	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/identity"
	"github.com/musterhq/muster/internal/fault"
)

// maxRecordsBody bounds the body with records of players, in bytes. One player's data has at
// most a MiB of JSON, which is text in JSON there.
const maxRecordsBody = 16 << 20

// recordRoutes adds moving players between deployments to the door for administrators.
func (d *domain) recordRoutes(to *admin.Door) {
	to.HandleLines("GET /admin/v1/players", auth.ExportPlayers, d.exportPlayers)
	to.HandleLarge("POST /admin/v1/players", auth.ImportPlayers, maxRecordsBody, d.importPlayers)
}

// recordsEnd is the last line of an export, by which a reader knows that it is whole.
type recordsEnd struct {
	Players int `json:"players"`
}

// exportPlayers writes the record of each player at one moment, one to a line, and their number.
func (d *domain) exportPlayers(r *http.Request, w io.Writer) error {
	n := 0
	for one := range d.identity.Records.All(d.store.View()) {
		if err := writeRecord(w, one); err != nil {
			return err
		}
		n++
	}
	return writeRecord(w, recordsEnd{n})
}

func writeRecord(w io.Writer, line any) error {
	if err := json.MarshalWrite(w, line); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// importPlayers adds the records of a body {"records": […], "check": …}, or with check only says
// what it would do.
func (d *domain) importPlayers(r *http.Request, body []byte) (any, error) {
	var in struct {
		Records []*identity.Record `json:"records"`
		Check   bool               `json:"check"`
	}
	if err := json.Unmarshal(body, &in, json.RejectUnknownMembers(true)); err != nil {
		return nil, fault.Invalid("body: %s; records of a newer Muster need a server that is as new", err)
	}
	if len(in.Records) > identity.MaxRecords {
		return nil, fault.Invalid("records: %d, at most %d at once", len(in.Records), identity.MaxRecords)
	}
	for i, one := range in.Records {
		if one == nil {
			return nil, fault.Invalid("records: the one at %d is null", i)
		}
	}
	if in.Check {
		return d.identity.Records.Check(in.Records), nil
	}
	return d.identity.Records.Add(r.Context(), in.Records)
}
