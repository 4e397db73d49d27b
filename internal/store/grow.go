package store

import (
	"context"
	"fmt"
	"slices"
)

// growAtOnce is how many rows are updated in one SQL transaction.
const growAtOnce = 500

// grow computes the columns of stored rows if they were stored by a program with
// other columns. If interrupted, it is repeated when the store is next opened.
func (s *Store) grow(ctx context.Context, db DB) error {
	grown, err := db.Grown(ctx)
	if err != nil || !grown {
		return err
	}
	var batch []Item
	_, err = db.Dump(ctx, func(it Item) error {
		columns, err := s.memberOf(it).columnsOf(it.Doc)
		if err != nil || slices.Equal(columns, it.Columns) {
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
func (s *Store) memberOf(it Item) member {
	if it.Place == LogPart {
		return s.journals[it.Number]
	}
	return s.tables[it.Number]
}
