package compute

import (
	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/store"
)

// Hosting runs processes for this Muster: it creates the computes that are instances of
// managed fleets, and can end processes. Package instance implements it.
type Hosting interface {
	// Behind returns the host of an instance's compute as a new process shows it, and whether
	// the process may start there.
	Behind(r store.Reader, c *Compute, processID string) (at Host, open bool)
	// Port returns the port at which players reach a port of a process; ok is false if it is
	// a port of a container that its definition does not declare.
	Port(r store.Reader, p *Process, port int) (reached int, ok bool)
	// Connected and Ready are called in the transaction in which a process connects for
	// the first time, or becomes ready.
	Connected(*store.Tx, *Process)
	Ready(*store.Tx, *Process)
	// Restarted is called in the transaction of Restart.
	Restarted(*store.Tx)

	// Clear begins to end the instances of a fleet that is being deleted, or of one of
	// its locations ("" means all). It reports whether any instance is left.
	Clear(tx *store.Tx, fleetID, location string) (left bool)
	// Left reports whether any instance is left, and whether Clear would change any.
	Left(r store.Reader, fleetID, location string) (left, running bool)

	// CanKill reports whether it runs the process and can kill it.
	CanKill(Ref) bool
	// Ended is called after commit when a process counts as ended. Its host makes sure
	// that it is gone.
	Ended(ref Ref, why event.Code)
}

// Host is the host of an instance, as its processes show it.
type Host struct {
	ID       string
	Impaired bool // the process gets no new game sessions
}

// nobody is the Hosting of a Muster that runs no processes.
type nobody struct{}

func (nobody) Behind(store.Reader, *Compute, string) (Host, bool)     { return Host{}, false }
func (nobody) Port(_ store.Reader, _ *Process, port int) (int, bool)  { return port, true }
func (nobody) Connected(*store.Tx, *Process)                          {}
func (nobody) Ready(*store.Tx, *Process)                              {}
func (nobody) Restarted(*store.Tx)                                    {}
func (nobody) Clear(*store.Tx, string, string) (left bool)            { return false }
func (nobody) Left(store.Reader, string, string) (left, running bool) { return false, false }
func (nobody) CanKill(Ref) bool                                       { return false }
func (nobody) Ended(Ref, event.Code)                                  {}
