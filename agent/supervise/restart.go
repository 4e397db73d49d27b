package supervise

import (
	"cmp"
	"time"
)

// Restart determines when the next run of a slot starts. Zero fields take their
// default.
type Restart struct {
	CrashWithin time.Duration // a failed run shorter than this is a crash; default 60 s
	CleanWithin time.Duration // a run that ended cleanly is a crash if shorter than this; default 2 s
	StableAfter time.Duration // a run of at least this length resets the count of crashes; default 10 min
	Base        time.Duration // delay after the first crash, doubling with each; default 2 s
	Max         time.Duration // the longest such delay; default 300 s
	Jitter      float64       // largest random change of the delay, as a share of it, up or down; default 0.2
	LoopAfter   int           // consecutive crashes that make a crash loop; default 8
	ProbeEvery  time.Duration // delay between runs in a crash loop; default 5 min
}

func (r Restart) withDefaults() Restart {
	r.CrashWithin = cmp.Or(r.CrashWithin, 60*time.Second)
	r.CleanWithin = cmp.Or(r.CleanWithin, 2*time.Second)
	r.StableAfter = cmp.Or(r.StableAfter, 10*time.Minute)
	r.Base = cmp.Or(r.Base, 2*time.Second)
	r.Max = cmp.Or(r.Max, 300*time.Second)
	r.Jitter = cmp.Or(r.Jitter, 0.2)
	r.LoopAfter = cmp.Or(r.LoopAfter, 8)
	r.ProbeEvery = cmp.Or(r.ProbeEvery, 5*time.Minute)
	return r
}

// Next is what follows the end of a run.
type Next struct {
	Crashes int           // consecutive ones, including this end
	Wait    time.Duration // until the next run
	Loop    bool          // the slot is in a crash loop
}

// Next returns what follows a run's end, as a pure function: crashes is the number of
// consecutive crashes before it, lived how long the run was, clean whether it ended
// with code 0, and chance a number in [0, 1). A run that could not be started has
// lived 0 and is not clean.
func (r Restart) Next(crashes int, lived time.Duration, clean bool, chance float64) Next {
	r = r.withDefaults()
	limit := r.CrashWithin
	if clean {
		limit = r.CleanWithin
	}
	switch {
	case lived >= limit && (clean || lived >= r.StableAfter):
		return Next{}
	case lived >= limit:
		return Next{Crashes: crashes}
	}
	crashes++
	if crashes >= r.LoopAfter {
		return Next{Crashes: crashes, Wait: r.spread(r.ProbeEvery, chance), Loop: true}
	}
	return Next{Crashes: crashes, Wait: r.spread(r.delay(crashes), chance)}
}

// delay doubles Base with each crash after the first, up to Max.
func (r Restart) delay(crashes int) time.Duration {
	delay := r.Base
	for n := 1; n < crashes && delay < r.Max; n++ {
		delay *= 2
	}
	return min(delay, r.Max)
}

func (r Restart) spread(delay time.Duration, chance float64) time.Duration {
	return time.Duration(float64(delay) * (1 + r.Jitter*(2*chance-1)))
}
