// Package install brings builds onto a machine: it downloads an archive
// (resuming where it was cut off), compares its checksum, unpacks it, runs its
// install script once, and keeps the result under the archive's checksum, so
// that all fleets with the same build share it. What nobody uses any more is
// removed when the disk gets full.
//
//	DIR/archives/SHA256       a downloaded archive; .part while it arrives
//	STAGING/SHA256.new/       a build being unpacked, and installed by its script
//	DIR/builds/SHA256/        the unpacked and installed build
//	DIR/builds/SHA256.log     what its install script said
//
// An instance gets a tree of its own (Tree): folders that it may write to, with
// hard links to the files of the build, which are read-only.
package install
