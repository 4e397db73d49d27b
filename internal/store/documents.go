package store

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/musterhq/muster/internal/feature"
)

// Column is a value of a row or an entry that SQL stores in a separate column.
type Column[V any] struct {
	Name   string
	Value  func(*V) string // "" means none (NULL among live rows)
	Unique bool            // no two live rows may share a value; SQL refuses a commit that would cause it
	Digest bool            // SQL may have a digest of a long value: rows are selected by the value, but not ordered
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
		values[i] = d.column(row, i)
	}
	return values
}

// column returns the value of a column as it is stored now.
func (d *documents) column(row any, i int) string {
	value := d.value(row, i)
	if d.fields[i].Digest && d.store.Level() >= feature.Packed {
		return digestOf(value)
	}
	return value
}

// digestOf returns the digest of a long value; a short one stays as it is.
func digestOf(value string) string {
	sum := sha256.Sum256([]byte(value))
	digest := "#" + base64.RawURLEncoding.EncodeToString(sum[:12])
	if len(value) <= len(digest) {
		return value
	}
	return digest
}

// matches reports whether the columns of a document may be stored as found is: cells that
// have grown have both values and digests.
func (d *documents) matches(doc []byte, found []string) (want []string, ok bool, err error) {
	v, err := d.decode(doc)
	if err != nil {
		return nil, false, fmt.Errorf("decode: %w", err)
	}
	want = d.columns(v)
	if len(want) != len(found) {
		return want, len(want)+len(found) == 0, nil
	}
	for i := range want {
		value := d.value(v, i)
		if found[i] != value && (!d.fields[i].Digest || found[i] != digestOf(value)) {
			return want, false, nil
		}
	}
	return want, true, nil
}

// eitherForm returns conditions that select the values of columns in both forms.
func (d *documents) eitherForm(where []Eq) []Eq {
	where = slices.Clone(where)
	for i, eq := range where {
		for _, c := range d.fields {
			if c.Name == eq.Column && c.Digest {
				where[i].Or = digestOf(eq.Value)
			}
		}
	}
	return where
}
