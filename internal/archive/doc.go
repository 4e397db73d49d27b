// Package archive reads archives that strangers made: zip, tar and tar.gz. An
// archive is refused whole, with a reason for people, when an entry would land
// outside the folder it is unpacked into, when a link leads out of it, when an
// entry is no file, folder or link, or when it grows past its limits.
//
// Check looks through an archive without writing; Extract unpacks it, and
// besides holds every file operation to the target folder (os.Root), so that
// not even a link that Check misjudged leads outside.
package archive
