package api

import (
	"context"

	"github.com/musterhq/muster/build/container"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
	"github.com/musterhq/muster/internal/tag"
)

func (h handlers) registerTags(srv *awsrpc.Server) {
	on(srv, "TagResource", h.tagResource)
	on(srv, "UntagResource", h.untagResource)
	on(srv, "ListTagsForResource", h.listTagsForResource)
}

func (h handlers) tagResource(ctx context.Context, in *gamelift.TagResourceInput) (*gamelift.TagResourceOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	return nil, h.Tags.Add.Do(ctx, tag.AddArgs{ARN: container.TaggedARN(*in.ResourceARN), Tags: tags})
}

func (h handlers) untagResource(ctx context.Context, in *gamelift.UntagResourceInput) (*gamelift.UntagResourceOutput, error) {
	return nil, h.Tags.Remove.Do(ctx, tag.RemoveArgs{ARN: container.TaggedARN(*in.ResourceARN), Keys: in.TagKeys})
}

func (h handlers) listTagsForResource(_ context.Context, in *gamelift.ListTagsForResourceInput) (*gamelift.ListTagsForResourceOutput, error) {
	tags, err := h.Tags.List(container.TaggedARN(*in.ResourceARN))
	if err != nil {
		return nil, err
	}
	return &gamelift.ListTagsForResourceOutput{Tags: tagList(tags)}, nil
}
