package store

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Column is a value of a row or an entry that SQL stores in a separate column.
type Column[V any] struct {
	Name   string
	Value  func(*V) string // "" means none (NULL among live rows)
	Digest bool            // values may be long, and are compared but not ordered
	Unique bool            // no two live rows may share a value; SQL refuses a commit that would cause it
}

// documents is what a table and a log have in common: values of one type V that SQL stores
// as documents with columns. It does not depend on V: generic code is compiled again in
// every package that passes a table on.
type documents struct {
	store  *Store
	label  string // name in SQL
	number int    // among tables or logs
	fields []ColumnSchema
	fresh  func() any                       // returns a new *V
	value  func(row any, column int) string // of a *V
}

func newDocuments[V any](s *Store, label string, number int, columns []Column[V]) documents {
	d := documents{
		store: s, label: label, number: number, fresh: func() any { return new(V) },
		value: func(row any, column int) string { return columns[column].Value(row.(*V)) },
	}
	for _, c := range columns {
		d.fields = append(d.fields, ColumnSchema{Name: c.Name, Unique: c.Unique, Digest: c.Digest})
	}
	return d
}

// register reserves the name and checks the columns of a table or log.
func (d *documents) register() {
	d.store.catalog.register(d.label)
	for _, c := range d.fields {
		checkColumn(d.label, c.Name)
	}
}

func (d *documents) name() string { return d.label }

func (d *documents) ordinal() int { return d.number }

// rowOptions make reloaded rows equal to those in memory: nil stays nil, durations
// stay exact, maps have one order.
func rowOptions() json.Options {
	return json.JoinOptions(
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(true), // a bad byte must not stop the journal
		json.FormatNilSliceAsNull(true),
		json.FormatNilMapAsNull(true),
		jsonv1.FormatDurationAsNano(true),
	)
}

func (d *documents) encode(v any) ([]byte, error) {
	return json.Marshal(v, d.store.rowOptions)
}

func (d *documents) decode(doc []byte) (any, error) {
	v := d.fresh()
	err := json.Unmarshal(doc, v, d.store.rowOptions)
	return v, err
}

// columns returns the values of the columns of a row.
func (d *documents) columns(row any) []string {
	if len(d.fields) == 0 {
		return nil
	}
	values := make([]string, len(d.fields))
	for i := range d.fields {
		values[i] = d.value(row, i)
	}
	return values
}

func (d *documents) columnsOf(doc []byte) ([]string, error) {
	v, err := d.decode(doc)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return d.columns(v), nil
}

// stores reports whether columns are stored as found, for a row whose columns are want. Drivers
// may store them briefly.
func (d *documents) stores(want, found []string) bool {
	if len(want) != len(found) {
		return len(want)+len(found) == 0
	}
	for i, c := range d.fields {
		if found[i] != want[i] && found[i] != c.Brief(want[i]) {
			return false
		}
	}
	return true
}
