package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/event/archive"
)

// mib is a MiB, in bytes.
const mib = 1 << 20

func (o *Options) validateEventsArchive() error {
	if o.EventsArchive == "" && (o.EventsArchiveEvery != 0 || o.EventsArchiveSize != 0) {
		return errors.New("events-archive: it says where; --events-archive-every and --events-archive-size say nothing without it")
	}
	if every := o.EventsArchiveEvery; every != 0 && (every < time.Second || every > archive.LongestEvery) {
		return fmt.Errorf("events-archive-every: %v is not from 1s to %v", every, archive.LongestEvery)
	}
	if size := o.EventsArchiveSize; size != 0 && (size < 1 || size > archive.LargestSize/mib) {
		return fmt.Errorf("events-archive-size: %d is not from 1 to %d MiB", size, archive.LargestSize/mib)
	}
	_, err := o.eventsArchive()
	return err
}

// eventsArchive returns where events are archived, nil for nowhere.
func (o *Options) eventsArchive() (archive.Target, error) {
	if o.EventsArchive == "" {
		return nil, nil
	}
	to, err := archive.Open(context.Background(), o.EventsArchive)
	if err != nil {
		return nil, fmt.Errorf("events-archive: %w", err)
	}
	return to, nil
}

// addArchive creates the service that archives events; if f is nil, it archives none.
func (d *domain) addArchive(o *Options, f *front) error {
	c := archive.Options{Region: o.Region, Every: o.EventsArchiveEvery, Size: o.EventsArchiveSize * mib, Logger: o.Logger}
	if f != nil {
		var err error
		if c.Target, err = o.eventsArchive(); err != nil {
			return err
		}
		c.Registerer = f.metrics
	}
	d.archive = archive.New(d.store, d.events, c)
	return nil
}
