package live

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/musterhq/muster/setup"
)

// rolledBack marks the build of a fleet that was taken out of service by a rollback, and reports
// what in the file, which may be nil, would bring it back; to has the place again, and was read as runs.
func (m *rollout) rolledBack(ctx context.Context, file *setup.Setup, fleet string, to, from types.FleetAttributes, runs *setup.Fleet) error {
	if err := m.reject(ctx, val(from.BuildArn), val(to.BuildArn)); err != nil {
		return err
	}
	if runs == nil {
		return nil
	}
	if build := m.Setup.BuildText(runs); build != "" {
		m.tell("fleet %s: runs build %s again", fleet, build)
	}
	if file == nil || file.Fleets[fleet] == nil {
		m.tell("A file that describes what was rolled back brings it back with the next 'muster apply' or 'muster deploy': change the file first.")
		return nil
	}
	now, err := m.described(ctx, *to.FleetId)
	if err != nil {
		return err
	}
	now.Build = runs.Build // the key of the set-up, if the file has another
	brings, sizes := setup.Forward(file, m.Setup, fleet, now)
	m.list("The file does not describe what serves now: the next 'muster apply' or 'muster deploy' makes the fleet what the file says, unless you change this first:", brings)
	if brings == nil {
		m.tell("The file describes the fleet that serves now: 'muster apply' brings nothing back.")
	}
	m.list("The capacity is what the fleet had before the rollback. The next 'muster apply' sets that of the file, unless you change this first:", sizes)
	return nil
}

// list reports lines under a heading, if there are any.
func (m *rollout) list(heading string, lines []string) {
	if lines != nil {
		m.tell("%s", heading)
	}
	for _, line := range lines {
		m.tell("  %s", line)
	}
}

// reject marks a build as rolled back, unless the fleet that has the place again runs it, too.
func (m *rollout) reject(ctx context.Context, arn, stays string) error {
	if arn == "" || arn == stays {
		return nil
	}
	at := time.Now().UTC().Format(time.RFC3339)
	_, err := m.API.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: &arn, Tags: tagsOf(setup.Tags{setup.RolledBackTag: at})})
	if full := (*types.TaggingFailedException)(nil); errors.As(err, &full) || missing(err) {
		m.tell("its build could not be marked as rolled back: %v", err)
		return nil
	}
	m.State.rolledBack[arn] = "" // its digest is known when the state is read again
	return err
}

// accept removes the mark from the build of a fleet that takes a place, and from others with its files.
func (m *rollout) accept(ctx context.Context, f types.FleetAttributes) error {
	own := val(f.BuildArn)
	if own == "" || len(m.State.rolledBack) == 0 {
		return nil
	}
	tags, err := (&reader{State: m.State, api: m.API}).tags(ctx, own)
	if err != nil && !missing(err) {
		return err
	}
	for arn, content := range m.State.rolledBack {
		if arn != own && (content == "" || content != tags[setup.ContentTag]) {
			continue
		}
		_, err := m.API.UntagResource(ctx, &gamelift.UntagResourceInput{ResourceARN: &arn, TagKeys: []string{setup.RolledBackTag}})
		if err != nil && !missing(err) {
			return err
		}
		delete(m.State.rolledBack, arn)
	}
	return nil
}
