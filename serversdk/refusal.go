package serversdk

import (
	"hash/maphash"
	"net/netip"
	"time"

	"github.com/musterhq/muster/internal/limit"
)

// refusals limit how often connections are refused with an explanation: per address and
// named compute, so that one compute with a wrong token does not hide what is wrong with
// the others behind its address, and per address alone, ten times as often. Valid
// credentials are accepted whatever was counted.
type refusals struct {
	seed      maphash.Seed
	computes  *limit.Buckets[uint64] // by the hash of a refusal, since names can be long; equal hashes share a bucket
	addresses *limit.Buckets[netip.Prefix]
}

// refusal is the key of a bucket.
type refusal struct {
	site           netip.Prefix
	fleet, compute string
}

func newRefusals(r limit.Rate) refusals {
	return refusals{
		seed:      maphash.MakeSeed(),
		computes:  limit.NewBuckets[uint64](r),
		addresses: limit.NewBuckets[netip.Prefix](limit.Rate{PerSecond: 10 * r.PerSecond, Burst: 10 * r.Burst}),
	}
}

// count counts a refusal, and returns how long to wait if there were too many.
func (r *refusals) count(site netip.Prefix, a *arrival, now time.Time) time.Duration {
	if wait := r.addresses.Take(site, now); wait > 0 {
		return wait
	}
	return r.computes.Take(maphash.Comparable(r.seed, refusal{site, a.ref.FleetID, a.ref.ComputeName}), now)
}
