// Package supervise keeps copies of a program running on this machine.
//
// A Group runs Count copies of one Spec. Each copy has a slot, 0 to Count-1; what
// runs in a slot is a run, with an id of its own. When a run ends another one
// starts in its slot, at once or after a delay that grows while runs crash
// (restart.go). The package knows nothing of fleets, game sessions or protocols.
//
//	waiting ──launch──▶ running ──exit──▶ waiting        Restart.Next gives the delay
//	                       │
//	                       └──Stop, Drain──▶ ended
//
// A run outlives its supervisor. It is started in a session and process group of
// its own, reads from nothing and writes to files, so a supervisor that exits or
// is killed disturbs it in no way. For each slot a record in StateDir says what
// runs there; the next supervisor on that StateDir finds the living runs by
// process id and start time and goes on watching them instead of starting
// doubles. An exit that happened in between is reported by the successor.
//
// When a run's first process ends, what is left of its process group is killed:
// nothing of a run stays behind in its slot.
//
// Taking over needs Linux. On other systems processes are started, watched and
// stopped, but a successor counts its predecessor's runs as ended. On Windows
// there is no process group: only the process itself is stopped, at once.
package supervise
