package compute

// FleetARN returns the ARN of a fleet, whether or not it exists.
func (s *Service) FleetARN(fleetID string) string { return s.fleets.Home().Of("fleet", fleetID) }

// LocationARN returns the ARN of a location, whether or not it exists.
func (s *Service) LocationARN(name string) string { return s.fleets.Home().Of("location", name) }
