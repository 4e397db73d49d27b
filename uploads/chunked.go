package uploads

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/awsrpc/sigv4"
)

// Bounds of the text between chunks.
const (
	maxLine     = 4096 // bytes of a chunk's header or of a trailing header
	maxTrailers = 16
)

// chunkedReader reads a body in aws-chunked form: each chunk is preceded by its size
// and, if signed is set, its signature, which is checked at the chunk's end; so the
// data is only valid once Read has returned io.EOF. Source: Amazon S3 API reference,
// "Transferring Payload in Multiple Chunks" with and without trailing headers.
type chunkedReader struct {
	r        *bufio.Reader
	signed   *sigv4.Chunks // nil if chunks have no signatures that can be checked
	trailers bool          // headers follow the last chunk
	each     func(name, value string)

	left      int64 // of the chunk
	signature string
	sum       hash.Hash
	begun     bool
	err       error // result of the next Read
}

func newChunkedReader(r io.Reader, signed *sigv4.Chunks, trailers bool, each func(name, value string)) *chunkedReader {
	return &chunkedReader{r: bufio.NewReaderSize(r, maxLine), signed: signed, trailers: trailers, each: each, sum: sha256.New()}
}

// Read reads the bytes of the chunks.
func (c *chunkedReader) Read(p []byte) (int, error) {
	for c.err == nil && c.left == 0 {
		c.err = c.nextChunk()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if c.signed != nil {
		c.sum.Write(p[:n])
	}
	if errors.Is(err, io.EOF) {
		err = errShort
	}
	c.err = err
	return n, err
}

// nextChunk ends the current chunk and begins the next; it returns io.EOF after the
// last.
func (c *chunkedReader) nextChunk() error {
	if c.begun {
		if err := c.endChunk(); err != nil {
			return err
		}
	}
	c.begun = true
	line, err := c.line()
	if err != nil {
		return err
	}
	size, extension, _ := strings.Cut(line, ";")
	c.left, err = strconv.ParseInt(size, 16, 64)
	if err != nil || c.left < 0 || len(size) > 16 {
		return errArgument("the body is not in aws-chunked form: a chunk begins with its size in hexadecimal")
	}
	c.signature = strings.TrimPrefix(extension, "chunk-signature=")
	c.sum.Reset()
	if c.left > 0 {
		return nil
	}
	return c.finish()
}

// endChunk reads the line break after a chunk and checks the chunk's signature.
func (c *chunkedReader) endChunk() error {
	line, err := c.line()
	if err != nil {
		return err
	}
	if line != "" {
		return errArgument("the body is not in aws-chunked form: a chunk ends with a line break")
	}
	return c.checkChunk()
}

func (c *chunkedReader) checkChunk() error {
	if c.signed != nil && !c.signed.Chunk(c.sum.Sum(nil), c.signature) {
		return errSignature
	}
	return nil
}

// finish checks the last chunk, which is empty, and reads the trailing headers.
func (c *chunkedReader) finish() error {
	if err := c.checkChunk(); err != nil {
		return err
	}
	var signedText strings.Builder
	var signature string
	for range maxTrailers {
		line, err := c.line()
		if errors.Is(err, errShort) || err == nil && line == "" {
			return c.checkTrailer(signedText.String(), signature)
		}
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if name == "x-amz-trailer-signature" {
			signature = value
			continue
		}
		signedText.WriteString(name + ":" + value + "\n")
		c.each(name, value)
	}
	return errArgument("the body has too many trailing headers")
}

func (c *chunkedReader) checkTrailer(text, signature string) error {
	if c.signed != nil && c.trailers && !c.signed.Trailer(text, signature) {
		return errSignature
	}
	return io.EOF
}

// line reads a line and returns it without its line break.
func (c *chunkedReader) line() (string, error) {
	line, err := c.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", errArgument("the body is not in aws-chunked form: a line is too long")
	case errors.Is(err, io.EOF):
		return "", errShort
	case err != nil:
		return "", err
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}
