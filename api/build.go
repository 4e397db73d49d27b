package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerBuilds(srv *awsrpc.Server) {
	on(srv, "CreateBuild", h.createBuild)
	on(srv, "DescribeBuild", h.describeBuild)
	on(srv, "ListBuilds", h.listBuilds)
	on(srv, "UpdateBuild", h.updateBuild)
	on(srv, "DeleteBuild", h.deleteBuild)
	on(srv, "RequestUploadCredentials", h.requestUploadCredentials)
}

func (h handlers) createBuild(ctx context.Context, in *gamelift.CreateBuildInput) (*gamelift.CreateBuildOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	source := locationIn(in.StorageLocation)
	b, err := h.Builds.Create.Do(ctx, build.CreateInput{
		Name: val(in.Name), Version: val(in.Version), OS: val(in.OperatingSystem),
		SDKVersion: val(in.ServerSdkVersion), Source: source, Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	out := &gamelift.CreateBuildOutput{Build: new(h.buildOut(b))}
	if source != nil {
		out.StorageLocation = locationOut(*source)
		return out, nil
	}
	out.StorageLocation = locationOut(h.Builds.Place(b))
	out.UploadCredentials, err = h.credentialsOut(b)
	return out, err
}

func (h handlers) requestUploadCredentials(_ context.Context, in *gamelift.RequestUploadCredentialsInput) (*gamelift.RequestUploadCredentialsOutput, error) {
	b, err := h.Builds.Awaits(h.Store.View(), *in.BuildId)
	if err != nil {
		return nil, err
	}
	credentials, err := h.credentialsOut(b)
	if err != nil {
		return nil, err
	}
	return &gamelift.RequestUploadCredentialsOutput{
		StorageLocation: locationOut(h.Builds.Place(b)), UploadCredentials: credentials,
	}, nil
}

func (h handlers) credentialsOut(b *build.Build) (*gamelift.AwsCredentials, error) {
	t, err := h.Uploads.Credentials(b.ID)
	if err != nil {
		return nil, err
	}
	return &gamelift.AwsCredentials{AccessKeyId: &t.AccessKeyID, SecretAccessKey: &t.SecretAccessKey, SessionToken: &t.SessionToken}, nil
}

func (h handlers) describeBuild(_ context.Context, in *gamelift.DescribeBuildInput) (*gamelift.DescribeBuildOutput, error) {
	b, err := h.Builds.Find(h.Store.View(), *in.BuildId)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeBuildOutput{Build: new(h.buildOut(b))}, nil
}

func (h handlers) listBuilds(ctx context.Context, in *gamelift.ListBuildsInput) (*gamelift.ListBuildsOutput, error) {
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*build.Build] {
		all := reached(ctx, h.Builds.All(h.Store.View(), after), func(b *build.Build) string { return h.Home.Of("build", b.ID) })
		return filtered(all, func(b *build.Build) bool { return in.Status == nil || string(b.Status) == *in.Status })
	}, func(b *build.Build) string { return b.ID }, "ListBuilds", val(in.Status))
	if err != nil {
		return nil, err
	}
	return &gamelift.ListBuildsOutput{Builds: list(page, h.buildOut), NextToken: next}, nil
}

func (h handlers) updateBuild(ctx context.Context, in *gamelift.UpdateBuildInput) (*gamelift.UpdateBuildOutput, error) {
	b, err := h.Builds.Update.Do(ctx, build.UpdateInput{BuildID: *in.BuildId, Name: in.Name, Version: in.Version})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateBuildOutput{Build: new(h.buildOut(b))}, nil
}

func (h handlers) deleteBuild(ctx context.Context, in *gamelift.DeleteBuildInput) (*gamelift.DeleteBuildOutput, error) {
	return nil, h.Builds.Delete.Do(ctx, *in.BuildId)
}

func (h handlers) buildOut(b *build.Build) gamelift.Build {
	return gamelift.Build{
		BuildId: &b.ID, BuildArn: new(h.Home.Of("build", b.ID)), Name: opt(b.Name), Version: opt(b.Version),
		Status: new(string(b.Status)), SizeOnDisk: new(b.SizeOnDisk()), OperatingSystem: &b.OS,
		CreationTime: gamelift.At(b.Created), ServerSdkVersion: &b.SDKVersion,
	}
}

// locationIn returns the location of a file that the caller has stored, or nil if none
// is given.
func locationIn(l *gamelift.S3Location) *build.Location {
	if l == nil {
		return nil
	}
	return &build.Location{Bucket: *l.Bucket, Key: *l.Key, RoleARN: *l.RoleArn, Version: val(l.ObjectVersion)}
}

func locationOut(l build.Location) *gamelift.S3Location {
	return &gamelift.S3Location{Bucket: &l.Bucket, Key: &l.Key, RoleArn: opt(l.RoleARN), ObjectVersion: opt(l.Version)}
}
