// Package instance manages managed fleets: hosts, the machines that have joined, and
// instances, the shares of hosts that run a fleet's processes.
//
// Instances are rows. The capacity loop (capacity.go) compares them with the counts that
// fleets desire, using a pure function (planFor), creates and removes instances, and ends
// what is overdue. Hosts are notified after commit of what to run (Assignments, OnAssign)
// and report what runs (ReportHost, ProcessExited). A drain waits for protected game
// sessions.
//
// Package compute knows nothing of instances; it calls this package through
// compute.Hosting.
package instance
