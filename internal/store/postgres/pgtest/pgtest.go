// Package pgtest provides a PostgreSQL server for tests: the one that
// MUSTER_TEST_POSTGRES names, or a temporary one started from the installed binaries.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/musterhq/muster/internal/store/sqltext"
)

// Variable is the name of the environment variable: a URL, or "start" for a temporary
// server.
const Variable = "MUSTER_TEST_POSTGRES"

// URL returns the URL of a database, or skips the test if none is configured.
func URL(t testing.TB) string {
	t.Helper()
	switch value := os.Getenv(Variable); value {
	case "":
		t.Skipf("set %s to a PostgreSQL URL, or to start where the server's programs are installed, to run this", Variable)
		return ""
	case "start":
		server, err := started(t)
		if err != nil {
			t.Fatalf("start PostgreSQL: %v", err)
		}
		return server.URL
	default:
		return value
	}
}

// Database returns the URL of a new database on that server, which is dropped when the
// test ends.
func Database(t testing.TB) string {
	t.Helper()
	server := URL(t)
	name := fmt.Sprintf("muster_test_%x", time.Now().UnixNano())
	Execute(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { Execute(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	config, err := url.Parse(server)
	if err != nil {
		t.Fatalf("read %s: %v", Variable, err)
	}
	config.Path = "/" + name
	return config.String()
}

// Cell returns a unique name for a cell, whose schema is dropped when the test ends.
func Cell(t testing.TB, url string) string {
	cell := fmt.Sprintf("t%x", time.Now().UnixNano())
	t.Cleanup(func() { Execute(t, url, "DROP SCHEMA IF EXISTS "+sqltext.Quote("muster_"+cell)+" CASCADE") })
	return cell
}

// Own starts a server for this test only, which may be halted and crashed, or skips the
// test if none can be started.
func Own(t testing.TB) *Server {
	t.Helper()
	if os.Getenv(Variable) == "" {
		t.Skipf("set %s to run this; the server's programs have to be installed", Variable)
	}
	server, err := started(t)
	if err != nil {
		t.Skipf("a PostgreSQL that may be halted cannot be started: %v", err)
	}
	return server
}

// started starts a server that is stopped when the test ends.
func started(t testing.TB) (*Server, error) {
	server, err := Start()
	if err == nil {
		server.stopAfter(t)
	}
	return server, err
}

func (s *Server) stopAfter(t testing.TB) {
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
}

// Execute runs statements on a new connection.
func Execute(t testing.TB, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Errorf("%s: %v", url, err)
		return
	}
	defer conn.Close(context.Background())
	for _, text := range statements {
		if _, err := conn.Exec(context.Background(), text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Ask returns the answer of a query, which is text, on a new connection.
func Ask(t testing.TB, url, text string) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), text).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer
}

// Server is a temporary PostgreSQL server on a Unix socket.
type Server struct {
	URL string

	dir     string
	program string
	args    []string
	process *exec.Cmd
	ended   <-chan struct{} // closed when the process has ended
}

// Start creates a cluster in a new directory and starts its server. Settings are lines
// of postgresql.conf, such as "fsync=off". PostgreSQL refuses to run as root, so for
// root the server runs as the user postgres.
func Start(settings ...string) (*Server, error) {
	initdb, err := program("initdb")
	if err != nil {
		return nil, err
	}
	return cluster(filepath.Join(filepath.Dir(initdb), "postgres"), settings, func(dir, data string) *exec.Cmd {
		return command(dir, initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	})
}

// cluster starts a server by its program in a new directory, whose data a command makes.
func cluster(program string, settings []string, fill func(dir, data string) *exec.Cmd) (*Server, error) {
	dir, err := os.MkdirTemp("", "muster-pg-")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	s := &Server{dir: dir, URL: "postgres://postgres@/postgres?host=" + url.QueryEscape(dir), program: program}
	s.args = []string{"-D", data, "-k", dir, "-c", "listen_addresses="}
	for _, setting := range settings {
		s.args = append(s.args, "-c", setting)
	}
	if err = own(dir); err == nil {
		filling := fill(dir, data)
		if out, failed := filling.CombinedOutput(); failed != nil {
			err = fmt.Errorf("%s: %w: %s", filepath.Base(filling.Path), failed, out)
		} else {
			err = s.Resume()
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Replica starts an asynchronous replica of the server for this test.
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	r, err := cluster(s.program, nil, func(dir, data string) *exec.Cmd {
		return command(dir, filepath.Join(filepath.Dir(s.program), "pg_basebackup"), "-h", s.dir, "-U", "postgres", "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync")
	})
	if err != nil {
		t.Fatal(err)
	}
	r.stopAfter(t)
	return r
}

// Synchronous makes each commit wait until a replica has it. There must be one.
func (s *Server) Synchronous(t testing.TB) {
	t.Helper()
	Execute(t, s.URL, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
	s.until(t, "SELECT (count(*) > 0)::text FROM pg_stat_replication WHERE sync_state = 'sync'")
}

// With returns the URL of whichever of two servers is the primary.
func (s *Server) With(other *Server) string {
	return "postgres://postgres@/postgres?target_session_attrs=read-write&connect_timeout=2&host=" + url.QueryEscape(s.dir+","+other.dir)
}

// Part makes a replica lack what its primary commits from now on. Before, it has everything.
func (s *Server) Part(t testing.TB, primary *Server) {
	t.Helper()
	at := Ask(t, primary.URL, "SELECT pg_current_wal_lsn()::text")
	s.until(t, "SELECT (pg_last_wal_replay_lsn() >= '"+at+"')::text")
	Execute(t, s.URL, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
	s.until(t, "SELECT (count(*) = 0)::text FROM pg_stat_wal_receiver")
}

// Promote makes a replica a primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	Execute(t, s.URL, "SELECT pg_promote(true, 60)")
	s.until(t, "SELECT (NOT pg_is_in_recovery())::text")
}

// until repeats a query until its answer is true.
func (s *Server) until(t testing.TB, text string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); Ask(t, s.URL, text) != "true"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not true for 30 s: %s", text)
		}
	}
}

// Resume starts a server that was halted or crashed, and returns when it accepts
// connections.
func (s *Server) Resume() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		s.process = command(s.dir, s.program, s.args...)
		if err := s.process.Start(); err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() { s.process.Wait(); close(ended) }()
		s.ended = ended
		err := s.await(ctx, ended)
		if err == nil {
			return nil
		}
		select {
		case <-ended: // it does not start while processes of a crashed one still run
			if ctx.Err() == nil {
				continue
			}
		default:
		}
		return errors.Join(err, s.Crash())
	}
}

// Halt ends the server as `pg_ctl stop -m fast` does.
func (s *Server) Halt() error { return s.end(os.Interrupt) }

// Crash kills the server's main process; the others notice and end.
func (s *Server) Crash() error { return s.end(os.Kill) }

func (s *Server) end(signal os.Signal) error {
	err := s.process.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil // an interrupt from the terminal reaches the server too
	}
	<-s.ended
	return err
}

// await returns when the server accepts connections or has ended.
func (s *Server) await(ctx context.Context, ended <-chan struct{}) error {
	for {
		conn, err := pgx.Connect(ctx, s.URL)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for PostgreSQL: %w", err)
		case <-ended:
			return fmt.Errorf("PostgreSQL ended at its start: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Login creates a superuser that must authenticate with a password, and returns the
// server's URL for it with a wrong one.
func (s *Server) Login(t testing.TB, role, password string) (url string) {
	t.Helper()
	rules := Ask(t, s.URL, "SHOW hba_file")
	if err := os.WriteFile(rules, []byte("local all "+role+" scram-sha-256\nlocal all all trust\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	Execute(t, s.URL, "CREATE ROLE "+role+" SUPERUSER LOGIN PASSWORD '"+password+"'", "SELECT pg_reload_conf()")
	url = strings.Replace(s.URL, "postgres@", role+":wrong@", 1)
	for end := time.Now().Add(30 * time.Second); ; {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil && strings.Contains(err.Error(), "password authentication failed") {
			return url
		}
		if err == nil { // the server reloads its rules asynchronously
			conn.Close(t.Context())
		}
		if time.Now().After(end) {
			t.Fatalf("with a wrong password: %v", err)
		}
	}
}

// Stop ends the server immediately and removes its files.
func (s *Server) Stop() error { return errors.Join(s.Halt(), os.RemoveAll(s.dir)) }

// program returns the path of one of the server's programs, of the newest version.
func program(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return slices.MaxFunc(found, func(a, b string) int {
			return strings.Compare(fmt.Sprintf("%60s", a), fmt.Sprintf("%60s", b))
		}), nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("PostgreSQL's %s is not installed: %w", name, err)
	}
	return filepath.EvalSymlinks(path)
}
