package archive

import (
	"archive/zip"
	"encoding/binary"
	"hash/crc32"
	"path"
	"strings"
	"unicode/utf8"
)

const (
	maxName  = 1024 // bytes in an entry's name, and in a link's target
	maxPart  = 255  // bytes in the name of one file or folder: file systems take no more
	maxDepth = 128  // nested folders
)

// cleanName returns an entry's name as a path within the folder; "" is the folder
// itself.
func cleanName(name string) (string, error) {
	switch {
	case name == "":
		return "", refuse("an entry has an empty name")
	case len(name) > maxName:
		return "", refuse("the name %.80q… has %d bytes; at most %d are allowed", name, len(name), maxName)
	case !utf8.ValidString(name):
		return "", refuse("the name %.80q is not UTF-8: pack it with UTF-8 names", name)
	case strings.ContainsRune(name, 0):
		return "", refuse("the name %.80q contains a NUL character", name)
	}
	slashed := strings.ReplaceAll(name, `\`, "/")
	switch {
	case path.IsAbs(slashed):
		return "", refuse("%q is an absolute path; names must be relative to the build's folder", name)
	case len(slashed) > 1 && slashed[1] == ':':
		return "", refuse("%q is an absolute path, with a drive; names must be relative to the build's folder", name)
	}
	for part := range strings.SplitSeq(slashed, "/") {
		switch {
		case part == "..":
			return "", refuse("%q climbs out of the archive", name)
		case len(part) > maxPart:
			return "", refuse("the name %.80q…, of a file or folder, has %d bytes; at most %d are allowed", part, len(part), maxPart)
		}
	}
	clean := path.Clean(slashed)
	if depth := strings.Count(clean, "/"); depth > maxDepth {
		return "", refuse("%.80q… lies %d folders deep; at most %d are allowed", name, depth, maxDepth)
	}
	if clean == "." {
		return "", nil
	}
	return clean, nil
}

// zippedName returns the name of a zip's entry as UTF-8. It is that already if the entry says
// so (APPNOTE 4.4.4, bit 11), or if it happens to be: most programs outside of Windows write
// UTF-8 without saying so. Else it is in CP437 (APPNOTE, appendix D), as Windows' Explorer and
// older programs write it, unless an extra field has it in UTF-8 too (4.6.9).
func zippedName(file *zip.File) string {
	if file.Flags&utf8Names != 0 || utf8.ValidString(file.Name) {
		return file.Name
	}
	if name, ok := unicodePath(file); ok {
		return name
	}
	return fromCP437(file.Name)
}

const (
	utf8Names       = 0x800
	unicodePathID   = 0x7075
	unicodePathHead = 5 // bytes: a version, and the checksum of the name that the field replaces
)

// unicodePath returns the name in the field Info-ZIP Unicode Path. It returns false if there is
// none, or if the entry was renamed by a program that does not know the field.
func unicodePath(file *zip.File) (string, bool) {
	for extra := file.Extra; len(extra) >= 4; {
		id, size := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; size > len(extra) {
			break
		}
		field := extra[:size]
		extra = extra[size:]
		if id == unicodePathID && size > unicodePathHead && field[0] == 1 &&
			binary.LittleEndian.Uint32(field[1:]) == crc32.ChecksumIEEE([]byte(file.Name)) {
			return string(field[unicodePathHead:]), true
		}
	}
	return "", false
}

// cp437 is the upper half of code page 437.
var cp437 = []rune("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀" +
	"αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0")

func fromCP437(name string) string {
	var out strings.Builder
	for _, b := range []byte(name) {
		if b < utf8.RuneSelf {
			out.WriteByte(b)
		} else {
			out.WriteRune(cp437[b-utf8.RuneSelf])
		}
	}
	return out.String()
}
