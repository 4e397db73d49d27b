package hosts

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/musterhq/muster/build/object"
	"github.com/musterhq/muster/compute"
	"github.com/musterhq/muster/instance"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// receiving bounds how long an upload of logs may take.
const receiving = 10 * time.Minute

// build serves the archive of a build to a host that should install it, and to no
// other.
func (s *Server) build(w http.ResponseWriter, r *http.Request, hostID string) error {
	id, ok := s.assigned(hostID, r.PathValue("sha"))
	if !ok {
		return fault.Missing("build %s is not one that shall run on this host", cut(r.PathValue("sha")))
	}
	file, err := s.opts.Builds.Open(r.Context(), id)
	if err != nil {
		return err
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, file)
	return nil
}

// assigned returns the id of the build with a hash, if it should run on a host.
func (s *Server) assigned(hostID, sha string) (buildID string, ok bool) {
	for _, a := range s.opts.Instances.Assignments(s.opts.Store.View(), hostID) {
		if m := a.Fleet.Managed; m.SHA256 == sha && sha != "" {
			return m.BuildID, true
		}
	}
	return "", false
}

// putLogs receives the logs of a process whose end the host has just reported.
func (s *Server) putLogs(w http.ResponseWriter, r *http.Request, hostID string) error {
	seen, ok := s.awaited(hostID, r.PathValue("instance"), r.PathValue("process"))
	if !ok {
		return fault.New(fault.Conflict, "no logs of process %s are awaited", cut(r.PathValue("process")))
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(receiving))
	if err := s.StoreLogs(store.WithActor(r.Context(), hostID), seen.Ref, seen.GameSessionID, r.Body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// StoreLogs stores an archive of the logs of an ended process, and of the game session that it
// hosted, if any. Errors: InvalidRequest (too large), LimitExceeded (no room on the disk), and
// those of the archive.
func (s *Server) StoreLogs(ctx context.Context, of compute.Ref, gameSessionID string, archive io.Reader) error {
	content, err := s.opts.Objects.Stage(archive, s.opts.LogBytes)
	if err != nil {
		return err
	}
	_, err = s.opts.Objects.Put(ctx, &object.Object{
		Bucket: object.LogBucket, Key: of.LogKey(gameSessionID), ContentType: "application/zip",
		Expires: time.Now().Add(s.opts.LogLife),
	}, content)
	if err != nil {
		return err
	}
	s.metrics.logBytes.Add(float64(content.Size))
	return nil
}

// awaited returns a process whose logs were requested and have not arrived.
func (s *Server) awaited(hostID, instanceID, processID string) (instance.Evidence, bool) {
	l := s.link(hostID)
	if l == nil {
		return instance.Evidence{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.pending[processID]
	on, _ := compute.InstanceOf(e.evidence.Ref.ComputeName)
	return e.evidence, ok && on == instanceID
}
