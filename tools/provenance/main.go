// Command provenance writes where a release's files come from, as an in-toto statement with
// SLSA's predicate: the repository, the commit, the toolchain and the command.
//
//	provenance -ref v0.1.0 -commit 2578… -builder URL -o FILE CHECKSUMS
//
// CHECKSUMS is a file in the form of sha256sum. The statement is not signed: sign it
// on publishing, or build the same files again and compare.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

const (
	repository = "https://github.com/musterhq/muster"
	buildType  = repository + "/blob/main/docs/install.md#building-a-release"
)

// The parts of the formats that are used: https://in-toto.io/Statement/v1 and
// https://slsa.dev/provenance/v1.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	InternalParameters   map[string]string `json:"internalParameters"`
	ResolvedDependencies []resource        `json:"resolvedDependencies"`
}

type resource struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

type runDetails struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
}

func main() {
	ref := flag.String("ref", "", "the `tag`, or another name of the commit (required)")
	commit := flag.String("commit", "", "the commit's `hash` (required)")
	builder := flag.String("builder", "", "`URL` that names who built it (required)")
	out := flag.String("o", "", "`file` to write (required)")
	flag.Parse()
	if flag.NArg() != 1 || *ref == "" || *commit == "" || *builder == "" || *out == "" {
		fmt.Fprintln(os.Stderr, "usage: provenance -ref TAG -commit HASH -builder URL -o FILE CHECKSUMS")
		os.Exit(2)
	}
	if err := write(*out, flag.Arg(0), *ref, *commit, *builder); err != nil {
		fmt.Fprintln(os.Stderr, "provenance:", err)
		os.Exit(1)
	}
}

func write(out, checksums, ref, commit, builder string) error {
	f, err := os.Open(checksums)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := stated(f, ref, commit, builder)
	if err != nil {
		return fmt.Errorf("%s: %w", checksums, err)
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// stated returns the statement for a list of checksums.
func stated(checksums io.Reader, ref, commit, builder string) (statement, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	lines := bufio.NewScanner(checksums)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != 32 || name == "" {
			return s, fmt.Errorf("%q is not a SHA-256 with a file's name", lines.Text())
		}
		s.Subject = append(s.Subject, subject{name, map[string]string{"sha256": sum}})
	}
	if err := lines.Err(); err != nil {
		return s, err
	}
	if len(s.Subject) == 0 {
		return s, fmt.Errorf("there are no files")
	}
	s.Predicate.BuildDefinition = buildDefinition{
		BuildType:          buildType,
		ExternalParameters: map[string]string{"repository": repository, "ref": ref},
		InternalParameters: map[string]string{"go": runtime.Version(), "configuration": ".goreleaser.yaml"},
		ResolvedDependencies: []resource{{
			URI: "git+" + repository + "@" + ref, Digest: map[string]string{"gitCommit": commit},
		}},
	}
	s.Predicate.RunDetails.Builder.ID = builder
	return s, nil
}
