// Package archive reads archives from untrusted sources: zip, tar and tar.gz. An
// archive is refused as a whole, with a reason for people, if an entry would land
// outside the folder it is unpacked into, if a link leads out of it, if an entry is
// not a file, folder or link, or if it exceeds its limits.
//
// Check examines an archive without writing. Extract unpacks it, and restricts every
// file operation to the target folder (os.Root), so that even a link that Check
// misjudged cannot lead outside.
package archive
