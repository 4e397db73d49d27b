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
	Unique bool            // no two live rows may share a value; SQL refuses a commit that would cause it
}

// documents is what a table and a log have in common: values of one type that SQL stores
// as documents with columns.
type documents[V any] struct {
	store  *Store
	label  string // name in SQL
	number int    // among tables or logs
	fields []Column[V]
}

// register reserves the name and checks the columns of a table or log.
func (d *documents[V]) register() {
	d.store.catalog.register(d.label)
	for _, c := range d.fields {
		checkColumn(d.label, c.Name)
	}
}

func (d *documents[V]) name() string { return d.label }

func (d *documents[V]) ordinal() int { return d.number }

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

func (d *documents[V]) encode(v any) ([]byte, error) {
	return json.Marshal(v.(*V), d.store.rowOptions)
}

func (d *documents[V]) decode(doc []byte) (*V, error) {
	v := new(V)
	err := json.Unmarshal(doc, v, d.store.rowOptions)
	return v, err
}

// columns returns the values of the columns of v, a *V.
func (d *documents[V]) columns(v any) []string {
	if len(d.fields) == 0 {
		return nil
	}
	values := make([]string, len(d.fields))
	for i, c := range d.fields {
		values[i] = c.Value(v.(*V))
	}
	return values
}

func (d *documents[V]) columnsOf(doc []byte) ([]string, error) {
	v, err := d.decode(doc)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return d.columns(v), nil
}

func (d *documents[V]) columnSchemas() []ColumnSchema {
	var out []ColumnSchema
	for _, c := range d.fields {
		out = append(out, ColumnSchema{Name: c.Name, Unique: c.Unique})
	}
	return out
}
