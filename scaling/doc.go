// Package scaling changes the capacity of managed fleets according to their use, by
// scaling policies (developer guide, "Auto-scale fleet capacity").
//
// Once a minute each location's metrics are sampled, and Plan, which is pure, computes
// the desired number of instances. fleet.SetDesired applies it within the location's
// limits. Package compute selects the instances to end and waits for protected game
// sessions. When a policy acted last is in its row. Earlier samples are in memory only,
// so evaluation periods begin anew after a restart.
package scaling
