package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// Moved changes the set-up of an AWS account to one for a Muster server, and returns a sentence
// for each thing that has no counterpart, or that is left to do by hand.
func (s *Setup) Moved() []string {
	var m move
	each(&m, "build", s.Builds, (*move).build)
	each(&m, "container group definition", s.ContainerGroupDefinitions, (*move).containerGroup)
	each(&m, "fleet", s.Fleets, (*move).fleet)
	each(&m, "container fleet", s.ContainerFleets, (*move).containerFleet)
	each(&m, "queue", s.GameSessionQueues, (*move).queue)
	each(&m, "matchmaking configuration", s.MatchmakingConfigurations, (*move).matchmaking)
	return m.notes
}

// move changes resources of an AWS account to those of a Muster server.
type move struct {
	at    string // the resource, for its notes
	notes []string
}

// each calls change for the resources of a kind.
func each[T any](m *move, kind string, all map[string]*T, change func(*move, *T)) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m.at = kind + " " + name
		change(m, all[name])
	}
}

// note adds a sentence about the resource.
func (m *move) note(format string, args ...any) {
	m.notes = append(m.notes, m.at+": "+fmt.Sprintf(format, args...))
}

func (m *move) build(*Build) {
	m.note("the API does not give out its files: add its Folder or Archive")
}

func (m *move) containerGroup(d *ContainerGroup) {
	images := []*string{}
	if g := d.GameServerContainerDefinition; g != nil {
		images = append(images, g.ImageUri)
	}
	for _, c := range d.SupportContainerDefinitions {
		images = append(images, c.ImageUri)
	}
	for _, image := range images {
		if image != nil && strings.Contains(*image, ".dkr.ecr.") {
			m.note("image %s is in Amazon ECR: the server and the machines need credentials for it, or a copy elsewhere", *image)
		}
	}
}

func (m *move) fleet(f *Fleet) {
	if f.FleetType == types.FleetTypeSpot {
		m.note("there are no Spot instances: it is written as ON_DEMAND")
		f.FleetType = types.FleetTypeOnDemand
	}
	if f.InstanceRoleArn != nil {
		m.note("game servers get no IAM role (%s): give them credentials of their own if they call AWS", *f.InstanceRoleArn)
		f.InstanceRoleArn, f.InstanceRoleCredentialsProvider = nil, ""
	}
	if c := f.CertificateConfiguration; c != nil && c.CertificateType == types.CertificateTypeGenerated {
		m.note("its certificates come from the server's own authority, which game clients have to trust ('muster ca')")
	}
	m.gateway(&f.PlayerGatewayMode)
	if f.ComputeType == types.ComputeTypeAnywhere {
		m.note("register its computes at the new endpoint")
	} else if len(f.EC2InboundPermissions) > 0 {
		m.note("EC2InboundPermissions open no firewall: do that on your machines")
	}
}

func (m *move) containerFleet(f *ContainerFleet) {
	if f.LogConfiguration != nil {
		m.note("logs are kept by the server: its LogConfiguration is left out")
		f.LogConfiguration = nil
	}
	m.gateway(&f.PlayerGatewayMode)
}

func (m *move) gateway(mode *types.PlayerGatewayMode) {
	if *mode == types.PlayerGatewayModeRequired {
		m.note("there is no player gateway: PlayerGatewayMode REQUIRED is written as DISABLED")
		*mode = types.PlayerGatewayModeDisabled
	}
}

func (m *move) queue(q *Queue) {
	m.topic(q.NotificationTarget)
	q.Destinations = slices.DeleteFunc(q.Destinations, func(d Destination) bool {
		if d.DestinationArn != "" {
			m.note("its destination %s is not in the file, and left out: import that region too, and add it as a DestinationArn once it is there (docs/placement.md)", d.DestinationArn)
		}
		return d.DestinationArn != ""
	})
}

func (m *move) matchmaking(c *Matchmaking) {
	m.topic(c.NotificationTarget)
	c.GameSessionQueues = slices.DeleteFunc(c.GameSessionQueues, func(q string) bool {
		if strings.HasPrefix(q, "arn:") {
			m.note("its queue %s is not in the file, and left out", q)
		}
		return strings.HasPrefix(q, "arn:")
	})
}

func (m *move) topic(target *string) {
	if target != nil {
		m.note("its NotificationTarget %s is an SNS topic, of which only the name comes over: configure a sink of kind sns or webhook for that topic (docs/notifications.md)", *target)
	}
}
