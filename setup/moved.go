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
func (s *Setup) Moved() (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(s.Builds)) {
		note("build %s: the API does not give out its files: add its Folder or Archive", name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.ContainerGroupDefinitions)) {
		d := s.ContainerGroupDefinitions[name]
		images := []*string{}
		if g := d.GameServerContainerDefinition; g != nil {
			images = append(images, g.ImageUri)
		}
		for _, c := range d.SupportContainerDefinitions {
			images = append(images, c.ImageUri)
		}
		for _, image := range images {
			if image != nil && strings.Contains(*image, ".dkr.ecr.") {
				note("container group definition %s: image %s is in Amazon ECR: the server and the machines need credentials for it, or a copy elsewhere", name, *image)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fleets)) {
		f, at := s.Fleets[name], "fleet "+name
		if f.FleetType == types.FleetTypeSpot {
			note("%s: there are no Spot instances: it is written as ON_DEMAND", at)
			f.FleetType = types.FleetTypeOnDemand
		}
		if f.InstanceRoleArn != nil {
			note("%s: game servers get no IAM role (%s): give them credentials of their own if they call AWS", at, *f.InstanceRoleArn)
			f.InstanceRoleArn, f.InstanceRoleCredentialsProvider = nil, ""
		}
		if c := f.CertificateConfiguration; c != nil && c.CertificateType == types.CertificateTypeGenerated {
			note("%s: its certificates come from the server's own authority, which game clients have to trust ('muster ca')", at)
		}
		if f.PlayerGatewayMode == types.PlayerGatewayModeRequired {
			note("%s: there is no player gateway: PlayerGatewayMode REQUIRED is written as DISABLED", at)
			f.PlayerGatewayMode = types.PlayerGatewayModeDisabled
		}
		if f.ComputeType == types.ComputeTypeAnywhere {
			note("%s: register its computes at the new endpoint", at)
		} else if len(f.EC2InboundPermissions) > 0 {
			note("%s: EC2InboundPermissions open no firewall: do that on your machines", at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.ContainerFleets)) {
		f, at := s.ContainerFleets[name], "container fleet "+name
		if f.LogConfiguration != nil {
			note("%s: logs are kept by the server: its LogConfiguration is left out", at)
			f.LogConfiguration = nil
		}
		if f.PlayerGatewayMode == types.PlayerGatewayModeRequired {
			note("%s: there is no player gateway: PlayerGatewayMode REQUIRED is written as DISABLED", at)
			f.PlayerGatewayMode = types.PlayerGatewayModeDisabled
		}
	}
	topic := func(at string, target **string) {
		if *target != nil {
			note("%s: its NotificationTarget %s is an SNS topic, which is left out: events go to sinks (docs/notifications.md)", at, **target)
			*target = nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.GameSessionQueues)) {
		q, at := s.GameSessionQueues[name], "queue "+name
		topic(at, &q.NotificationTarget)
		q.Destinations = slices.DeleteFunc(q.Destinations, func(d Destination) bool {
			if d.DestinationArn != "" {
				note("%s: its destination %s is not in the file, and left out", at, d.DestinationArn)
			}
			return d.DestinationArn != ""
		})
	}
	for _, name := range slices.Sorted(maps.Keys(s.MatchmakingConfigurations)) {
		m, at := s.MatchmakingConfigurations[name], "matchmaking configuration "+name
		topic(at, &m.NotificationTarget)
		m.GameSessionQueues = slices.DeleteFunc(m.GameSessionQueues, func(q string) bool {
			if strings.HasPrefix(q, "arn:") {
				note("%s: its queue %s is not in the file, and left out", at, q)
			}
			return strings.HasPrefix(q, "arn:")
		})
	}
	return notes
}
