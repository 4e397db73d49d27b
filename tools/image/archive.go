package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/v1"
)

// repository is the name by which engines know an image that they have loaded, before the
// colon and version.
const repository = "localhost/muster"

// zip writes content compressed: without a name and time, so that the same comes out each time.
func zip(w io.Writer, content []byte) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(content); err != nil {
		return err
	}
	return z.Close()
}

// loaded is what manifest.json of a Docker archive says of an image.
type loaded struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// archiveWriter writes the files of an archive, blobs once each.
type archiveWriter struct {
	*tar.Writer
	s     source
	blobs map[v1.Hash]bool
}

// archive writes an image to a file.
func (s source) archive(file string, index v1.ImageIndex) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := &archiveWriter{Writer: tar.NewWriter(out), s: s, blobs: map[v1.Hash]bool{}}
	if err := w.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	images, err := w.index(index)
	if err != nil {
		return err
	}
	text, err := json.Marshal(images)
	if err != nil {
		return err
	}
	if err := w.file("manifest.json", text); err != nil {
		return err
	}
	return w.Close()
}

func (w *archiveWriter) file(name string, content []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: w.s.created}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

func (w *archiveWriter) blob(digest v1.Hash, content []byte) error {
	if w.blobs[digest] {
		return nil
	}
	w.blobs[digest] = true
	return w.file(at(digest), content)
}

// at returns the name of a blob in the archive.
func at(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// index writes index.json, which names the index of all platforms by its version, and the
// images. It returns these as a Docker archive names them: each by its processor as well.
func (w *archiveWriter) index(index v1.ImageIndex) ([]loaded, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var images []loaded
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			return nil, err
		}
		one, err := w.image(image)
		if err != nil {
			return nil, err
		}
		one.RepoTags = []string{repository + ":" + w.s.version + "-" + m.Platform.Architecture}
		images = append(images, one)
	}
	raw, err := index.RawManifest()
	if err != nil {
		return nil, err
	}
	digest, size, err := v1.SHA256(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if err := w.blob(digest, raw); err != nil {
		return nil, err
	}
	top, err := json.Marshal(v1.IndexManifest{
		SchemaVersion: 2, MediaType: manifest.MediaType,
		Manifests: []v1.Descriptor{{MediaType: manifest.MediaType, Size: size, Digest: digest,
			Annotations: map[string]string{"org.opencontainers.image.ref.name": repository + ":" + w.s.version, "io.containerd.image.name": repository + ":" + w.s.version}}},
	})
	if err != nil {
		return nil, err
	}
	return images, w.file("index.json", top)
}

// image writes the blobs of an image.
func (w *archiveWriter) image(image v1.Image) (loaded, error) {
	var one loaded
	manifest, err := image.RawManifest()
	if err != nil {
		return one, err
	}
	digest, err := image.Digest()
	if err != nil {
		return one, err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return one, err
	}
	configName, err := image.ConfigName()
	if err != nil {
		return one, err
	}
	if err := errors.Join(w.blob(digest, manifest), w.blob(configName, config)); err != nil {
		return one, err
	}
	layers, err := image.Layers()
	if err != nil {
		return one, err
	}
	one.Config = at(configName)
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return one, err
		}
		r, err := l.Compressed()
		if err != nil {
			return one, err
		}
		content, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return one, err
		}
		if err := w.blob(digest, content); err != nil {
			return one, err
		}
		one.Layers = append(one.Layers, at(digest))
	}
	return one, nil
}
