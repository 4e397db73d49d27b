package fleet

import "slices"

// regions are the AWS Regions of Amazon GameLift (Amazon GameLift endpoints and quotas).
// Programs and operators can use them as names of places: hosts join them and managed
// fleets list them, like custom locations.
var regions = []string{
	"af-south-1", "ap-east-1", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-south-2",
	"ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-5", "ap-southeast-7",
	"ca-central-1", "cn-north-1", "cn-northwest-1", "eu-central-1", "eu-north-1", "eu-south-1", "eu-south-2",
	"eu-west-1", "eu-west-2", "eu-west-3", "il-central-1", "me-south-1", "mx-central-1", "sa-east-1",
	"us-east-1", "us-east-2", "us-west-1", "us-west-2",
}

// Regions returns the names of the locations that exist without being created: AWS's
// Regions, and the home region if it is not one of them.
func (s *Service) Regions() []string {
	if slices.Contains(regions, s.opts.Home.Region) {
		return slices.Clone(regions)
	}
	return append([]string{s.opts.Home.Region}, regions...)
}
