package sqlite

import (
	"testing"

	"github.com/musterhq/muster/internal/store"
)

// CheckpointInline is the number of log pages at which a commit waits for a
// checkpoint.
const CheckpointInline = checkpointInline

// SetLevel simulates a database whose feature level a later release raised.
func SetLevel(t *testing.T, opened store.DB, level int, release string) {
	d := opened.(*db)
	err := d.write(t.Context(), func() error {
		if err := d.exec(`UPDATE "muster_schema" SET "version" = ?1`, level); err != nil {
			return err
		}
		return d.exec(`INSERT INTO "muster_release" ("level", "release") VALUES (?1, ?2)`, level, release)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Pragma returns a setting of the writer's connection.
func Pragma(t *testing.T, opened store.DB, name string) string {
	var value string
	if err := opened.(*db).conn.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// Asked counts the queries that are kept prepared.
func Asked(opened store.DB) (n int) {
	for range opened.(*db).asked.Range {
		n++
	}
	return n
}

// Address returns how the writer opens a file.
func Address(t *testing.T, file string) string {
	if err := registerVFS(); err != nil {
		t.Fatal(err)
	}
	return address(file, "rwc")
}
