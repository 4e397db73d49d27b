package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// statements are run in sequence in one transaction and one round trip. Those that are
// new to a connection are prepared in the same round trip: preparing them before, as
// pgx does, costs the first commits of a new owner, and those on a new connection, an
// additional round trip each, which matters if the database is far away.
type statements struct {
	texts []string
	args  [][]any // of each: int64, string, []byte, []int64, []string or [][]byte
}

func (s *statements) queue(text string, args ...any) {
	s.texts = append(s.texts, text)
	s.args = append(s.args, args)
}

// prepared has the names of the statements that a connection has prepared, by text.
type prepared map[string]string

const preparedKey = "muster prepared" // in pgconn.PgConn.CustomData

func preparedOn(conn *pgx.Conn) prepared {
	p, ok := conn.PgConn().CustomData()[preparedKey].(prepared)
	if !ok {
		p = prepared{}
		conn.PgConn().CustomData()[preparedKey] = p
	}
	return p
}

// run runs the statements and returns the first error, after which they have no effect.
func (s *statements) run(ctx context.Context, conn *pgx.Conn) error {
	known := preparedOn(conn)
	pipeline := conn.PgConn().StartPipeline(ctx)
	fresh, err := s.send(pipeline, conn.TypeMap(), known)
	if err == nil {
		err = pipeline.Sync()
	}
	for err == nil {
		var result any
		if result, err = pipeline.GetResults(); err != nil || result == nil {
			break
		}
		switch result := result.(type) {
		case *pgconn.StatementDescription: // in the order they were sent
			known[fresh[0].text], fresh = fresh[0].name, fresh[1:]
		case *pgconn.ResultReader:
			_, err = result.Close()
		}
	}
	if closed := pipeline.Close(); err == nil {
		err = closed
	}
	return err
}

// sentStatement is a statement that is being prepared.
type sentStatement struct{ name, text string }

// send queues all statements, and returns those that it also prepares.
func (s *statements) send(pipeline *pgconn.Pipeline, types *pgtype.Map, known prepared) (fresh []sentStatement, err error) {
	sent := map[string]string{}
	for i, text := range s.texts {
		oids, values, formats, err := encode(types, s.args[i])
		if err != nil {
			return fresh, err
		}
		name, ok := known[text]
		if !ok {
			name, ok = sent[text]
		}
		if !ok {
			name = "m" + strconv.Itoa(len(known)+len(fresh))
			sent[text] = name
			fresh = append(fresh, sentStatement{name, text})
			pipeline.SendPrepare(name, text, oids)
		}
		pipeline.SendQueryPrepared(name, values, formats, nil)
	}
	return fresh, nil
}

// encode returns arguments in PostgreSQL's binary format.
func encode(types *pgtype.Map, args []any) (oids []uint32, values [][]byte, formats []int16, err error) {
	for _, arg := range args {
		var oid uint32
		switch arg.(type) {
		case int64:
			oid = pgtype.Int8OID
		case string:
			oid = pgtype.TextOID
		case []byte:
			oid = pgtype.ByteaOID
		case []int64:
			oid = pgtype.Int8ArrayOID
		case []string:
			oid = pgtype.TextArrayOID
		case [][]byte:
			oid = pgtype.ByteaArrayOID
		default:
			return nil, nil, nil, fmt.Errorf("an argument is a %T", arg)
		}
		value, err := types.Encode(oid, pgtype.BinaryFormatCode, arg, nil)
		if err != nil {
			return nil, nil, nil, err
		}
		oids, values, formats = append(oids, oid), append(values, value), append(formats, pgtype.BinaryFormatCode)
	}
	return oids, values, formats, nil
}
