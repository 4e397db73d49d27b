// Package scaling changes the capacity of managed fleets from their use, by the
// policies that people set (developer guide, "Auto-scale fleet capacity").
//
// Once a minute each location's metrics are sampled and Plan, which is pure,
// says how many instances it shall have. What comes of it goes through
// fleet.SetDesired, which holds it to the location's limits; which instances end
// and that protected game sessions are waited for is compute's business. What a
// policy did, and when, is in its row; what was measured before is in memory, so
// after a restart evaluation periods begin anew.
package scaling
