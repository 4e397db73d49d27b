package hosts

import (
	"fmt"
	"net/http"
	"strings"
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
	content, err := s.opts.Objects.Stage(r.Body, s.opts.LogBytes)
	if err != nil {
		return err
	}
	ctx := store.WithActor(r.Context(), hostID)
	_, err = s.opts.Objects.Put(ctx, &object.Object{
		Bucket: object.LogBucket, Key: LogKey(seen.Ref, seen.GameSessionID), ContentType: "application/zip",
		Expires: time.Now().Add(s.opts.LogLife),
	}, content)
	if err != nil {
		return err
	}
	s.metrics.logBytes.Add(float64(content.Size))
	w.WriteHeader(http.StatusNoContent)
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

// LogKey returns the key of a process's logs in object.LogBucket, which is by the game
// session that it hosted, or else by its own id.
func LogKey(ref compute.Ref, gameSessionID string) string {
	name := ref.ProcessID
	if gameSessionID != "" {
		name = gameSessionID[strings.LastIndexByte(gameSessionID, '/')+1:]
	}
	return fmt.Sprintf("%s/%s/%s.zip", ref.FleetID, ref.ComputeName, name)
}
