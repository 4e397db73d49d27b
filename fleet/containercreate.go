package fleet

import (
	"cmp"

	"github.com/musterhq/muster/event"
	"github.com/musterhq/muster/internal/fault"
	"github.com/musterhq/muster/internal/store"
)

// The members that name container group definitions.
const (
	gameMember        = "GameServerContainerGroupDefinitionName"
	perInstanceMember = "PerInstanceContainerGroupDefinitionName"
)

// containerSystem is the only operating system of container groups in the API.
const containerSystem = "AMAZON_LINUX_2023"

// ContainerInput describes the container fleet to create. Zero members mean the API's
// defaults.
type ContainerInput struct {
	Description       string
	Locations         []string
	Game, PerInstance string // names or ARNs of definitions
	Copies            int
	Ports             PortSpan
	Inbound           []Permission
	InstanceType      string
	BillingType       string
	Role              string
	Protection        Protection
	CreationLimit     *CreationLimit
	MetricGroups      []string
	Logs              Logs
	Gateway           Gateway
	Tags              map[string]string
}

func (s *Service) runCreateContainer(tx *store.Tx, in ContainerInput) (*Fleet, error) {
	f := &Fleet{
		ID: tx.ID("containerfleet-"), Description: in.Description, ComputeType: Container, Created: tx.Now(), Home: s.home.Region,
		Protection: cmp.Or(in.Protection, NoProtection), CreationLimit: in.CreationLimit, MetricGroups: in.MetricGroups, Gateway: in.Gateway,
		Managed: &Managed{
			OS: containerSystem, InstanceType: in.InstanceType, FleetType: cmp.Or(in.BillingType, onDemand), Inbound: in.Inbound,
		},
		Containers: &Containers{Copies: in.Copies, Ports: in.Ports, Role: in.Role, Logs: in.Logs},
	}
	f.Containers.Logs.Destination = cmp.Or(in.Logs.Destination, logsCloudWatch)
	if f.MetricGroups == nil {
		f.MetricGroups = []string{"default"}
	}
	if err := s.checkContainer(tx, f, &in); err != nil {
		return nil, err
	}
	if err := s.tags.Put(tx, s.home.OfFleet(f.ID), in.Tags); err != nil {
		return nil, err
	}
	s.record(tx, event.FleetCreated, f, "", "Fleet %s was created", f.ID)
	f.addLocations(in.Locations, in.Tags)
	f.move(Pending)
	s.recordStep(tx, f, "")
	s.begin(tx, f, f.Locations)
	if f.Containers.Game == nil {
		for _, to := range []Status{Creating, Created} {
			f.move(to)
			s.recordStep(tx, f, "")
		}
		s.putDesired(tx, f)
		return f, nil
	}
	s.Deployments.start(tx, f, nil, DefaultDeployment)
	return f, nil
}

// checkContainer validates a request for a container fleet and completes the fleet.
func (s *Service) checkContainer(tx *store.Tx, f *Fleet, in *ContainerInput) error {
	if err := in.Gateway.check(); err != nil {
		return err
	}
	if err := s.checkLocations(tx, true, 0, in.Locations); err != nil {
		return err
	}
	if err := checkPermissions(in.Inbound, containerSystem); err != nil {
		return err
	}
	c := f.Containers
	var err error
	if in.Game != "" {
		c.Game, c.FollowsGame, err = s.findGroup(tx, gameMember, in.Game, false)
	}
	if err == nil && in.PerInstance != "" {
		c.PerInstance, c.FollowsPerInstance, err = s.findGroup(tx, perInstanceMember, in.PerInstance, true)
	}
	if missing, ok := fault.As(err); ok && missing.Kind == fault.NotFound {
		return fault.Invalid("%s", missing.Message) // CreateContainerFleet models no NotFoundException
	}
	if err != nil {
		return err
	}
	if in.InstanceType == "" {
		f.chooseType()
	}
	if _, ok := SizeOf(f.Managed.InstanceType); !ok {
		return fault.Invalid("InstanceType: %q is not known; it says how many processors and how much memory an instance takes of a host. Name one such as c5.large, or leave it out", f.Managed.InstanceType)
	}
	if err := f.checkContainers(); err != nil {
		return err
	}
	return s.checkQuota(tx)
}

// begin records that new locations of a container fleet are PENDING. They are CREATED at
// once if the fleet has nothing to run.
func (s *Service) begin(tx *store.Tx, f *Fleet, locations []LocationState) {
	for i := range locations {
		l := &locations[i]
		s.recordLocation(tx, f, l)
		if f.Containers.Game == nil {
			for _, to := range []Status{Creating, Created} {
				f.moveAt(l, to)
				s.recordLocation(tx, f, l)
			}
		}
	}
}

func (s *Service) runDeleteContainer(tx *store.Tx, fleetID string) error {
	f, err := s.FindContainer(tx, fleetID)
	if err != nil {
		return err
	}
	if err := s.remove(tx, f); err != nil {
		return err
	}
	s.Deployments.cancel(tx, f.Containers.Deployment, "the fleet is being deleted")
	return nil
}
