package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// pauseImage is an image with a program that only waits. It is made here, so that no
// registry is needed for it.
const pauseImage = "muster-pause:1"

// pauseCode is machine code that waits for signals forever, without a library.
var pauseCode = map[string][]byte{
	"amd64": {0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7}, // pause() in a loop
	"arm64": { // ppoll(0, 0, 0, 0) in a loop
		0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2,
		0x28, 0x09, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0xfa, 0xff, 0xff, 0x17,
	},
}

// The machines of pauseCode in an ELF header.
var elfMachine = map[string]uint16{"amd64": 62, "arm64": 183}

// pauseProgram returns an ELF file of 64 bits: its header, one segment, the code.
func pauseProgram(arch string) []byte {
	const base, headers = 0x400000, 64 + 56
	code := pauseCode[arch]
	size := uint64(headers + len(code))
	var out bytes.Buffer
	out.Write([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	for _, part := range []any{
		uint16(2), elfMachine[arch], uint32(1), uint64(base + headers), uint64(64), uint64(0), uint32(0), // executable, entry, program headers
		uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(0x1000), // load all, read and execute
	} {
		_ = binary.Write(&out, binary.LittleEndian, part) // a buffer takes all
	}
	out.Write(code)
	return out.Bytes()
}

// pauseArchive returns the image in the form that engines load.
func pauseArchive(arch string) ([]byte, error) {
	layer, err := archive(map[string][]byte{"pause": pauseProgram(arch)})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": arch, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/pause"}, "User": "65534:65534"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{pauseImage}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, err
	}
	return archive(map[string][]byte{"config.json": config, "layer.tar": layer, "manifest.json": manifest})
}

func archive(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

// needPauseFor loads the image that only waits if one of the containers needs it and the
// engine has it not.
func (e *Engine) needPauseFor(ctx context.Context, wanted []client.ContainerCreateOptions) error {
	if wanted[0].Config.Image != pauseImage {
		return nil
	}
	_, err := e.api.ImageInspect(ctx, pauseImage)
	if err == nil || !cerrdefs.IsNotFound(err) {
		return err
	}
	if pauseCode[e.arch] == nil {
		return fmt.Errorf("every essential container of the group waits for another one; on %s one of them must not", runtime.GOARCH)
	}
	image, err := pauseArchive(e.arch)
	if err != nil {
		return err
	}
	answer, err := e.api.ImageLoad(ctx, bytes.NewReader(image), client.ImageLoadWithQuiet(true))
	if err != nil {
		return fmt.Errorf("load the image of the group's network: %w", err)
	}
	defer answer.Close()
	_, err = io.Copy(io.Discard, answer)
	return err
}
