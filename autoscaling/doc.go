// Package autoscaling answers tools that read the Auto Scaling group of a game server group,
// as Terraform's provider does: DescribeAutoScalingGroups and DescribePolicies of the Auto
// Scaling API (query protocol, version 2011-01-01), read-only. Muster starts no machines, so
// the answers are what CreateGameServerGroup stored. Sources: Amazon EC2 Auto Scaling API
// reference; AWS query protocol.
package autoscaling
