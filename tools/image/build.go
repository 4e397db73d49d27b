package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	user  = 65532  // who runs the programs, unless the engine is told of another one
	state = "data" // the folder that is a volume
	port  = 9080
)

// source is what an image says of where it comes from.
type source struct {
	version string // v0.1.0
	commit  string // "": not known
	created time.Time
}

// labels returns the labels that the OCI's specification names, which are the annotations of
// the index too.
func (s source) labels() map[string]string {
	const home = "https://github.com/musterhq/muster"
	all := map[string]string{
		"org.opencontainers.image.title":         "muster",
		"org.opencontainers.image.description":   "Hosting and matchmaking for session-based multiplayer games; speaks the Amazon GameLift API",
		"org.opencontainers.image.url":           home,
		"org.opencontainers.image.source":        home,
		"org.opencontainers.image.documentation": home + "/blob/main/docs/install.md#the-container-image",
		"org.opencontainers.image.vendor":        "The Muster authors",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       s.version,
		"org.opencontainers.image.created":       s.created.Format(time.RFC3339),
	}
	if s.commit != "" {
		all["org.opencontainers.image.revision"] = s.commit
	}
	return all
}

// config returns how an engine runs the image. The health check is Docker's and Podman's:
// the OCI's format has none, and other engines ignore it.
func (s source) config() v1.Config {
	return v1.Config{
		User:         fmt.Sprintf("%d:%[1]d", user),
		Env:          []string{"MUSTER_LISTEN=" + fmt.Sprintf("0.0.0.0:%d", port), "MUSTER_DATA=/" + state + "/muster", "MUSTER_CREDENTIALS=/" + state + "/muster/admin-credentials"},
		Entrypoint:   []string{"/muster"},
		Cmd:          []string{"serve"},
		ExposedPorts: map[string]struct{}{fmt.Sprintf("%d/tcp", port): {}},
		Volumes:      map[string]struct{}{"/" + state: {}},
		Labels:       s.labels(),
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/muster", "health"},
			Interval: 10 * time.Second, Timeout: 6 * time.Second, StartPeriod: 5 * time.Minute, Retries: 3,
		},
	}
}

// index returns the image for all platforms.
func (s source) index(platforms []platform) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		image, err := s.image(p)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", p.OS, p.Architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p.Platform}})
	}
	return mutate.Annotations(index, s.labels()).(v1.ImageIndex), nil
}

// image returns the image for one platform.
func (s source) image(p platform) (v1.Image, error) {
	content, err := s.files(p)
	if err != nil {
		return nil, err
	}
	layer, err := compressed(content)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: s.created}, CreatedBy: "muster tools/image"},
	})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file.OS, file.Architecture, file.Created, file.Config = p.OS, p.Architecture, v1.Time{Time: s.created}, s.config()
	return mutate.ConfigFile(image, file)
}

// files returns the archive of the image's files. Any user may write to the folders of the state
// and of builds, and to /tmp: a new volume takes over the folder's mode.
// The server makes a folder of its own in that of the state, which nobody else may read.
func (s source) files(p platform) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, folder := range []string{"blobs", state, "tmp"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o1777, Uid: user, Gid: user, ModTime: s.created}); err != nil {
			return nil, err
		}
	}
	write := func(name string, mode int64, content []byte) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: s.created}); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	if err := write("etc/ssl/certs/ca-certificates.crt", 0o644, authorities()); err != nil {
		return nil, err
	}
	for _, file := range p.programs {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := runnable(content, p.Architecture); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := write(filepath.Base(file), 0o755, content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// authorities returns the certificates of the authorities that Mozilla trusts, where Go looks
// for them. Those that it trusts for some certificates alone are left out: a file cannot say
// for which.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
		}
	}
	return out.Bytes()
}

// machines are the processors by the names that Go and the OCI have for them.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// runnable returns an error unless a program runs on a processor, where there are no
// libraries.
func runnable(content []byte, architecture string) error {
	program, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("this is no program for Linux: %w", err)
	}
	if want, ok := machines[architecture]; !ok || program.Machine != want {
		return fmt.Errorf("the program is for %v, not for %s", program.Machine, architecture)
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("the program needs libraries, which the image has not: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// layer is an archive that is compressed.
type layer struct {
	v1.Layer
	diffID v1.Hash // of the archive before it was compressed
}

// DiffID implements v1.Layer.
func (l layer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// compressed returns the layer of an archive.
func compressed(content []byte) (v1.Layer, error) {
	diffID, _, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := zip(&out, content); err != nil {
		return nil, err
	}
	return layer{static.NewLayer(out.Bytes(), types.OCILayer), diffID}, nil
}
