package api

import (
	"context"
	"iter"

	"github.com/musterhq/muster/build"
	"github.com/musterhq/muster/gamelift"
	"github.com/musterhq/muster/internal/awsrpc"
)

func (h handlers) registerScripts(srv *awsrpc.Server) {
	on(srv, "CreateScript", h.createScript)
	on(srv, "DescribeScript", h.describeScript)
	on(srv, "ListScripts", h.listScripts)
	on(srv, "UpdateScript", h.updateScript)
	on(srv, "DeleteScript", h.deleteScript)
}

func (h handlers) createScript(ctx context.Context, in *gamelift.CreateScriptInput) (*gamelift.CreateScriptOutput, error) {
	tags, err := tagMap(in.Tags)
	if err != nil {
		return nil, err
	}
	c, err := h.Builds.Scripts.Create(ctx, build.ScriptInput{
		Name: in.Name, Version: in.Version, Node: in.NodeJsVersion, Zip: in.ZipFile,
		Source: locationIn(in.StorageLocation), Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreateScriptOutput{Script: new(h.scriptOut(c))}, nil
}

func (h handlers) updateScript(ctx context.Context, in *gamelift.UpdateScriptInput) (*gamelift.UpdateScriptOutput, error) {
	c, err := h.Builds.Scripts.Update(ctx, build.ScriptInput{
		ScriptID: *in.ScriptId, Name: in.Name, Version: in.Version, Zip: in.ZipFile, Source: locationIn(in.StorageLocation),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateScriptOutput{Script: new(h.scriptOut(c))}, nil
}

func (h handlers) describeScript(_ context.Context, in *gamelift.DescribeScriptInput) (*gamelift.DescribeScriptOutput, error) {
	c, err := h.Builds.Scripts.Find(h.Store.View(), *in.ScriptId)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeScriptOutput{Script: new(h.scriptOut(c))}, nil
}

func (h handlers) listScripts(ctx context.Context, in *gamelift.ListScriptsInput) (*gamelift.ListScriptsOutput, error) {
	page, next, err := pageOf(in.NextToken, limit(in.Limit, defaultPage, largestPage), func(after string) iter.Seq[*build.Script] {
		return reached(ctx, h.Builds.Scripts.All(h.Store.View(), after), func(c *build.Script) string { return h.Home.Of("script", c.ID) })
	}, func(c *build.Script) string { return c.ID }, "ListScripts")
	if err != nil {
		return nil, err
	}
	return &gamelift.ListScriptsOutput{Scripts: list(page, h.scriptOut), NextToken: next}, nil
}

func (h handlers) deleteScript(ctx context.Context, in *gamelift.DeleteScriptInput) (*gamelift.DeleteScriptOutput, error) {
	return nil, h.Builds.Scripts.Delete.Do(ctx, *in.ScriptId)
}

func (h handlers) scriptOut(c *build.Script) gamelift.Script {
	at := h.Builds.Scripts.Place(c)
	if c.Source != nil {
		at = *c.Source
	}
	return gamelift.Script{
		ScriptId: &c.ID, ScriptArn: new(h.Home.Of("script", c.ID)), Name: opt(c.Name), Version: opt(c.Version),
		SizeOnDisk: new(c.SizeOnDisk()), CreationTime: gamelift.At(c.Created), StorageLocation: locationOut(at),
		NodeJsVersion: &c.Node,
	}
}
