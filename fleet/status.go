package fleet

import "fmt"

// Status is the state of a fleet or of one of its locations, spelled as the API's FleetStatus.
type Status string

// The states of a fleet.
const (
	Made        Status = "NEW"
	Downloading Status = "DOWNLOADING" // a host fetches the build, or none is available yet
	Validating  Status = "VALIDATING"  // the build is unpacked and its launch paths are checked
	Building    Status = "BUILDING"    // the build is installed
	Activating  Status = "ACTIVATING"  // the first processes start
	Active      Status = "ACTIVE"
	Error       Status = "ERROR"
	Deleting    Status = "DELETING"
	Terminated  Status = "TERMINATED"
	NotFound    Status = "NOT_FOUND" // for a location whose custom location was deleted
)

// moves lists each allowed change of a fleet's status and what causes it.
var moves = map[[2]Status]string{
	{"", Made}:                "CreateFleet (EC2)",
	{Made, Downloading}:       "the build is READY: hosts are asked for capacity",
	{Downloading, Validating}: "a host has the build",
	{Validating, Building}:    "launch paths found",
	{Building, Activating}:    "installed: processes start",
	{Activating, Active}:      "first ProcessReady",
	{Made, Error}:             "creation failed",
	{Downloading, Error}:      "the build did not arrive",
	{Validating, Error}:       "unusable build or launch path",
	{Building, Error}:         "install script failed",
	{Activating, Error}:       "processes crash, or none becomes ready",
	{Made, Deleting}:          "DeleteFleet",
	{Downloading, Deleting}:   "DeleteFleet",
	{Validating, Deleting}:    "DeleteFleet",
	{Building, Deleting}:      "DeleteFleet",
	{Activating, Deleting}:    "DeleteFleet",
	{Error, Deleting}:         "DeleteFleet",
	{"", Active}:              "CreateFleet (ANYWHERE)",
	{Active, Deleting}:        "DeleteFleet",
	{Deleting, Terminated}:    "last process ended",
}

// Moves returns the allowed changes of status with their causes, for documentation and
// tests.
func Moves() map[[2]Status]string { return moves }

// move changes a fleet's status. A change that is not in the table is a bug.
func (f *Fleet) move(to Status) {
	f.Status = step(f.Status, to, f.ID)
}

// move changes a location's status, by the same table.
func (l *LocationState) move(to Status) { l.Status = step(l.Status, to, l.Location) }

func step(from, to Status, what string) Status {
	if _, ok := moves[[2]Status{from, to}]; !ok {
		panic(fmt.Sprintf("%s: no move from %q to %q", what, from, to))
	}
	return to
}
