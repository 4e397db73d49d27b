package store

import (
	"context"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strings"
	"time"
)

// catalog is what is registered on a store. It is fixed once the store is opened.
type catalog struct {
	fixed    bool
	names    map[string]bool
	slots    int
	tables   []tableMember
	logs     []logMember
	commands map[string]replayer
}

func newCatalog() catalog {
	return catalog{names: map[string]bool{}, commands: map[string]replayer{}}
}

// tableMember and logMember are tables and logs as the journal uses them.
type tableMember interface {
	member
	ordinal() int
	schema() TableSchema
	isNew(key string) bool
	compare(sn *Snapshot, key string, columns []string) (found, same, vacates bool)
	digest(sn *Snapshot, h hash.Hash)
	count(sn *Snapshot) int
	differs(sn, other *Snapshot) error
	each(sn *Snapshot, f func(key string, doc []byte) error) error
	keyOf(doc []byte) (string, error)
	begin(sn *Snapshot)
	load(sn *Snapshot, key string, doc []byte) error
	replace(key string, doc []byte) error
	restore(tx *Tx, from *Snapshot) error
	adopt(sn *Snapshot)
	seal(sn *Snapshot)
}

type logMember interface {
	member
	ordinal() int
	schema() LogSchema
	expired(ctx context.Context, now time.Time, db DB) (time.Time, error)
	last() uint64
	adopt(sn *Snapshot)
	resume(last uint64)
	nudge()
}

var sqlName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// register reserves a name for a table, log or index ("table.index").
func (c *catalog) register(name string) {
	if c.fixed {
		panic(fmt.Sprintf("store: %s registered after Open", name))
	}
	if table, _, isIndex := strings.Cut(name, "."); !sqlName.MatchString(table) && !isIndex {
		panic(fmt.Sprintf("store: %q is no table name: lower case letters, digits and _, at most 48", name))
	}
	if strings.HasPrefix(name, "muster_") {
		panic(fmt.Sprintf("store: %q: names that begin with muster_ are the drivers' own", name))
	}
	if c.names[name] {
		panic(fmt.Sprintf("store: %s registered twice", name))
	}
	c.names[name] = true
}

// reserved are the columns that every table has.
var reserved = []string{"key", "doc", "seq", "time", "cell", "archived_at", "expires_at"}

func checkColumn(table, column string) {
	if !sqlName.MatchString(column) || slices.Contains(reserved, column) {
		panic(fmt.Sprintf("store: %q is no column name for %s", column, table))
	}
}

func (c *catalog) addSlot() int {
	c.slots++
	return c.slots - 1
}

func (c *catalog) tablesByName() []tableMember {
	return slices.SortedFunc(slices.Values(c.tables), func(a, b tableMember) int {
		return strings.Compare(a.name(), b.name())
	})
}

func (c *catalog) schema() Schema {
	var schema Schema
	for _, t := range c.tables {
		schema.Tables = append(schema.Tables, t.schema())
	}
	for _, l := range c.logs {
		schema.Logs = append(schema.Logs, l.schema())
	}
	return schema
}

// tableNamed returns a table, or nil.
func (c *catalog) tableNamed(name string) tableMember {
	for _, t := range c.tables {
		if t.name() == name {
			return t
		}
	}
	return nil
}

// memberNamed returns a table or a log, or nil.
func (c *catalog) memberNamed(name string) member {
	if t := c.tableNamed(name); t != nil {
		return t
	}
	for _, l := range c.logs {
		if l.name() == name {
			return l
		}
	}
	return nil
}

// load builds a snapshot of the durable state.
func (c *catalog) load(ctx context.Context, db DB) (*Snapshot, State, error) {
	sn := c.empty()
	state, err := db.Load(ctx, func(table int, key string, doc []byte) error {
		return c.tables[table].load(sn, key, doc)
	})
	if err != nil {
		return nil, State{}, err
	}
	sn.seq = state.Fence.Seq
	copy(sn.last, state.Last)
	return sn, state, nil
}

// empty returns a snapshot to load rows into.
func (c *catalog) empty() *Snapshot {
	sn := &Snapshot{catalog: c, tree: make([]any, c.slots), last: make([]uint64, len(c.logs))}
	for _, t := range c.tables {
		t.begin(sn)
	}
	return sn
}

// growAtOnce is how many rows are updated in one SQL transaction.
const growAtOnce = 500

// grow computes the columns of stored rows if they were stored by a program with
// other columns. If interrupted, it is repeated when the store is next opened.
func (c *catalog) grow(ctx context.Context, db DB) error {
	grown, err := db.Grown(ctx)
	if err != nil || !grown {
		return err
	}
	var batch []Item
	_, err = db.Dump(ctx, func(it Item) error {
		member := c.memberOf(it)
		columns, err := member.columnsOf(it.Doc)
		if err != nil || member.stores(columns, it.Columns) {
			return err
		}
		it.Columns = columns
		if batch = append(batch, it); len(batch) < growAtOnce {
			return nil
		}
		full := batch
		batch = nil
		return db.SetColumns(ctx, full)
	})
	if err != nil {
		return fmt.Errorf("compute columns of stored rows: %w", err)
	}
	if err := db.SetColumns(ctx, batch); err != nil {
		return fmt.Errorf("compute columns of stored rows: %w", err)
	}
	return db.Settle(ctx)
}

// memberOf returns the table or log that an item belongs to.
func (c *catalog) memberOf(it Item) member {
	if it.Place == LogPart {
		return c.logs[it.Number]
	}
	return c.tables[it.Number]
}
