package uploads

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"net/http"
	"strings"
)

// checksumPrefix begins the names of headers with checksums.
const checksumPrefix = "x-amz-checksum-"

// nvme is the polynomial of CRC-64/NVME, reflected.
const nvme = 0x9a6c9329ac4bc9b5

// algorithms has the hash of each algorithm, by its name in headers.
var algorithms = map[string]func() hash.Hash{
	"crc32":     func() hash.Hash { return crc32.NewIEEE() },
	"crc32c":    func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	"crc64nvme": func() hash.Hash { return crc64.New(crc64.MakeTable(nvme)) },
	"sha1":      sha1.New,
	"sha256":    sha256.New,
}

// checksums are those that a sender gave or announced, by algorithm.
type checksums struct {
	sums map[string]hash.Hash
	want map[string]string // in base64; those in the trailer are filled in when it arrives
}

// checksumsOf returns the checksums that come with a body.
func checksumsOf(r *http.Request) (*checksums, error) {
	c := &checksums{map[string]hash.Hash{}, map[string]string{}}
	for name := range r.Header {
		if err := c.expect(name, r.Header.Get(name)); err != nil {
			return nil, err
		}
	}
	for name := range strings.SplitSeq(r.Header.Get("X-Amz-Trailer"), ",") {
		if err := c.expect(strings.TrimSpace(name), ""); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// expect prepares for a checksum; value is "" if it comes in the trailer.
func (c *checksums) expect(header, value string) error {
	algorithm, ok := strings.CutPrefix(strings.ToLower(header), checksumPrefix)
	if !ok || algorithm == "algorithm" || algorithm == "type" || algorithm == "mode" {
		return nil
	}
	newSum, ok := algorithms[algorithm]
	if !ok {
		return errNotImplemented("the checksum " + algorithm)
	}
	c.sums[algorithm], c.want[algorithm] = newSum(), value
	return nil
}

// trailer handles a header that came after the body.
func (c *checksums) trailer(name, value string) {
	algorithm, ok := strings.CutPrefix(strings.ToLower(name), checksumPrefix)
	if _, expected := c.sums[algorithm]; ok && expected {
		c.want[algorithm] = value
	}
}

// check compares the checksums, after the body was written.
func (c *checksums) check() error {
	for algorithm, sum := range c.sums {
		if base64.StdEncoding.EncodeToString(sum.Sum(nil)) != c.want[algorithm] {
			return errDigest
		}
	}
	return nil
}
