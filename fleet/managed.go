package fleet

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// Managed is the additional configuration of a fleet whose instances Muster creates on
// hosts (ComputeType EC2). Members without meaning on such hosts are stored and returned
// unchanged.
type Managed struct {
	BuildID          string       `json:"build_id"`
	OS               string       `json:"os,omitzero"`     // of the build, as named in the API
	SHA256           string       `json:"sha256,omitzero"` // of the build's archive, as the next two members
	Format           string       `json:"format,omitzero"`
	Bytes            int64        `json:"bytes,omitzero"`
	InstanceType     string       `json:"instance_type"`
	FleetType        string       `json:"fleet_type"` // ON_DEMAND, SPOT
	Inbound          []Permission `json:"inbound,omitzero"`
	InstanceRole     string       `json:"instance_role,omitzero"`
	RoleCredentials  string       `json:"role_credentials,omitzero"`
	PeerAccount      string       `json:"peer_account,omitzero"`
	PeerVPC          string       `json:"peer_vpc,omitzero"`
	LaunchPath       string       `json:"launch_path,omitzero"` // ServerLaunchPath, if it was set
	LaunchParameters string       `json:"launch_parameters,omitzero"`
	CertificateType  string       `json:"certificate_type,omitzero"`
}

// Size returns the resources that one instance of the fleet uses on a host.
func (m *Managed) Size() Size {
	s, _ := SizeOf(m.InstanceType)
	return s
}

// Certificates reports whether the fleet's game servers have TLS certificates of Muster's.
func (f *Fleet) Certificates() bool {
	return f.Managed != nil && f.Managed.CertificateType == "GENERATED"
}

// System returns the operating system that the fleet's hosts must run, as named in Go.
func (m *Managed) System() string {
	if windows(m.OS) {
		return "windows"
	}
	return "linux"
}

// Build is what a fleet needs to know about a build.
type Build struct {
	ID     string
	Status string
	OS     string // as named in the API
	Ready  bool
	SHA256 string // of its archive, in hex
	Format string // of its archive: zip, tar or tar.gz
	Bytes  int64  // of its archive
}

// Builds looks up a build by id or ARN. Errors: NotFound.
type Builds func(r store.Reader, idOrARN string) (Build, error)

// onDemand is the default fleet type (API reference, CreateFleet).
const onDemand = "ON_DEMAND"

// checkManaged validates the request for a managed fleet and fills in its defaults and
// build.
func (s *Service) checkManaged(r store.Reader, in *CreateInput) error {
	m := in.Managed
	if m.BuildID == "" {
		return fault.Invalid("BuildId: required for a fleet with ComputeType EC2; scripts are not hosted (docs/migrating.md)")
	}
	if _, ok := SizeOf(m.InstanceType); !ok {
		return fault.Invalid("EC2InstanceType: required for a fleet with ComputeType EC2; it says how many processors and how much memory an instance takes of a host")
	}
	if err := in.completeRuntime(); err != nil {
		return err
	}
	if err := checkPermissions(m.Inbound, m.OS); err != nil {
		return err
	}
	m.FleetType = cmp.Or(m.FleetType, onDemand)
	return s.checkBuild(r, m)
}

// completeRuntime converts the launch path of older requests to a process, and checks
// that there is a process to launch.
func (in *CreateInput) completeRuntime() error {
	m := in.Managed
	if m.LaunchPath != "" && len(in.Runtime.Processes) > 0 {
		return fault.Invalid("ServerLaunchPath: give it or RuntimeConfiguration, not both")
	}
	if m.LaunchPath != "" {
		in.Runtime.Processes = []ProcessSpec{{LaunchPath: m.LaunchPath, Parameters: m.LaunchParameters, Concurrent: 1}}
	}
	if len(in.Runtime.Processes) == 0 {
		return fault.Invalid("RuntimeConfiguration.ServerProcesses: at least one is required for a fleet with ComputeType EC2")
	}
	return nil
}

func (s *Service) checkBuild(r store.Reader, m *Managed) error {
	if s.builds == nil {
		return fault.Invalid("BuildId: this server stores no builds")
	}
	b, err := s.builds(r, m.BuildID)
	if err != nil {
		return err
	}
	if !b.Ready {
		return fault.Invalid("BuildId: build %s is in status %s; it must be READY", b.ID, b.Status)
	}
	m.BuildID, m.OS, m.SHA256, m.Format, m.Bytes = b.ID, b.OS, b.SHA256, b.Format, b.Bytes
	return nil
}

// Permission allows players to reach a range of ports (IpPermission).
type Permission struct {
	FromPort int    `json:"from_port"`
	ToPort   int    `json:"to_port"`
	Range    string `json:"range"` // CIDR
	Protocol string `json:"protocol"`
}

// MostPermissions is the most permissions of a fleet (API reference,
// UpdateFleetPortSettings).
const MostPermissions = 50

// remoteAdmin is the only port below lowestPort that may be opened.
const (
	remoteAdmin = 22
	lowestPort  = 1026
)

func checkPermissions(all []Permission, system string) error {
	if len(all) > MostPermissions {
		return fault.Invalid("inbound permissions: %d permissions; a fleet has at most %d", len(all), MostPermissions)
	}
	for i, p := range all {
		if p.FromPort > p.ToPort {
			return fault.Invalid("IpPermission.%d: FromPort %d is above ToPort %d", i+1, p.FromPort, p.ToPort)
		}
		ssh := p.FromPort == remoteAdmin && p.ToPort == remoteAdmin && !windows(system)
		if p.FromPort < lowestPort && !ssh {
			return fault.Invalid("IpPermission.%d.FromPort: %d; ports of players begin at %d", i+1, p.FromPort, lowestPort)
		}
		if _, err := netip.ParsePrefix(p.Range); err != nil {
			return fault.Invalid("IpPermission.%d.IpRange: %q is no range in CIDR notation", i+1, p.Range)
		}
		if slices.Contains(all[:i], p) {
			return fault.Invalid("IpPermission.%d: the same permission is given twice", i+1)
		}
	}
	return nil
}

// PortsInput lists inbound permissions of a managed fleet to add and to remove.
type PortsInput struct {
	FleetID           string
	Authorize, Revoke []Permission
}

func (s *Service) runUpdatePorts(tx *store.Tx, in PortsInput) (*Fleet, error) {
	f, err := s.changeableManaged(tx, in.FleetID)
	if err == nil {
		err = f.refuseContainers("use UpdateContainerFleet with InstanceInboundPermissionAuthorizations and …Revocations")
	}
	if err == nil {
		err = f.permit(in, "InboundPermissionRevocations")
	}
	if err != nil {
		return nil, err
	}
	s.table.Put(tx, f)
	s.record(tx, event.FleetUpdated, f, "", "The inbound permissions were changed")
	return f, nil
}

// permit replaces f.Managed by a copy with other permissions. member is the name of the
// revocations in errors.
func (f *Fleet) permit(in PortsInput, member string) error {
	m := *f.Managed
	m.Inbound = slices.Clone(m.Inbound)
	for i, p := range in.Revoke {
		at := slices.Index(m.Inbound, p)
		if at < 0 {
			return fault.Invalid("%s.%d: fleet %s has no such permission", member, i+1, f.ID)
		}
		m.Inbound = slices.Delete(m.Inbound, at, at+1)
	}
	for _, p := range in.Authorize {
		if !slices.Contains(m.Inbound, p) {
			m.Inbound = append(m.Inbound, p)
		}
	}
	if err := checkPermissions(m.Inbound, m.OS); err != nil {
		return err
	}
	f.Managed = &m
	return nil
}

func windows(system string) bool { return strings.HasPrefix(system, "WINDOWS") }
