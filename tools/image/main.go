// Command image puts programs that are built into a container image, for several platforms,
// without a container engine. The image is FROM scratch: it has the programs, which are
// static, and a folder for the state.
//
//	image -version v0.1.0 -o FILE linux/amd64=PROGRAM,PROGRAM linux/arm64=PROGRAM,PROGRAM
//	image -version v0.1.0 -push registry.example/muster:v0.1.0 linux/amd64=PROGRAM,…
//
// The file is an OCI image layout in an archive. It is a Docker archive too, in which each
// platform's image has a tag, for engines that load nothing else. What comes out depends on
// the programs and the flags alone.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var s source
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&s.version, "version", "dev", "release of the programs")
	flags.StringVar(&s.commit, "commit", "", "commit that they are built from")
	created := flags.String("created", "", "time of the image, as in 2006-01-02T15:04:05Z: the commit's; 1970 without it")
	out := flags.String("o", "", "file to write")
	push := flags.String("push", "", "where to push the image, REGISTRY/NAME:TAG; with the credentials of docker login")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" && *push == "" {
		return errors.New("neither -o nor -push says where the image goes")
	}
	s.created = time.Unix(0, 0).UTC()
	if *created != "" {
		at, err := time.Parse(time.RFC3339, *created)
		if err != nil {
			return fmt.Errorf("-created: %w", err)
		}
		s.created = at.UTC()
	}
	var platforms []platform
	for _, text := range flags.Args() {
		p, err := parsePlatform(text)
		if err != nil {
			return err
		}
		platforms = append(platforms, p)
	}
	if len(platforms) == 0 {
		return errors.New("no platform is given; want OS/ARCHITECTURE=PROGRAM,…")
	}
	index, err := s.index(platforms)
	if err != nil {
		return err
	}
	if *out != "" {
		if err := s.archive(*out, index); err != nil {
			return fmt.Errorf("write %s: %w", *out, err)
		}
	}
	if *push != "" {
		return upload(*push, index)
	}
	return nil
}

// upload writes an image to a registry.
func upload(to string, index v1.ImageIndex) error {
	ref, err := name.ParseReference(to)
	if err != nil {
		return fmt.Errorf("-push: %w", err)
	}
	if err := remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push to %s: %w", ref, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println(ref.Context().Digest(digest.String()))
	return nil
}

// platform is a system and a processor, and the programs built for it.
type platform struct {
	v1.Platform
	programs []string // paths
}

// parsePlatform reads OS/ARCHITECTURE=PROGRAM,PROGRAM.
func parsePlatform(text string) (p platform, err error) {
	system, files, ok := strings.Cut(text, "=")
	os, architecture, both := strings.Cut(system, "/")
	if !ok || !both || files == "" || strings.Contains(architecture, "/") {
		return p, fmt.Errorf("%q: want OS/ARCHITECTURE=PROGRAM,…", text)
	}
	p.OS, p.Architecture, p.programs = os, architecture, strings.Split(files, ",")
	return p, nil
}
