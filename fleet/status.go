package fleet

import "github.com/musterhq/muster/internal/state"

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

// Moves lists each allowed change of the status of a fleet or a location and what causes it.
var Moves = state.Machine[Status]{
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

func (f *Fleet) move(to Status) { Moves.Move(&f.Status, to, f.ID) }

func (l *LocationState) move(to Status) { Moves.Move(&l.Status, to, l.Location) }
