package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A client that declares what the facts have, and one of each thing that they have not.
func TestNewer(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"commands/CreateAliasCommand.d.ts":  "",
		"commands/CreateMirrorCommand.d.ts": "",
		"models/enums.d.ts": `/** What a "comment"; says does not count. */
export declare const RoutingStrategyType: {
    readonly SIMPLE: "SIMPLE";
    readonly MIRRORED: "MIRRORED";
};`,
		"models/models_0.d.ts": `/**
 * @public
 */
export interface CreateAliasInput {
    /**
     * Mentioned: not a member.
     */
    Name: string | undefined;
    Mirror?: string | undefined;
}
export interface TagResourceRequest {
    ResourceARN: string | undefined;
    Owner: string | undefined;
}
export interface DescribeAliasOutput {
    Alias?: Alias | undefined;
    Mirrors?: string[] | undefined;
}
export interface Alias {
    AliasId?: string | undefined;
    MirrorId?: string | undefined;
}
export interface Mirror {
    MirrorId?: string | undefined;
}`,
	} {
		path := filepath.Join(dir, "dist-types", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.newer(dir)
	want := []string{
		"enumeration RoutingStrategyType: MIRRORED", "member Alias.MirrorId", "member CreateAliasInput.Mirror",
		"member DescribeAliasOutput.Mirrors", "member Mirror.MirrorId", "member TagResourceRequest.Owner", "operation CreateMirror",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("newer found %q, %v, want %q", got, err, want)
	}
	if _, err := m.newer(t.TempDir()); err == nil {
		t.Error("a folder without declarations was compared")
	}
}
