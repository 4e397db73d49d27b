// Package install installs builds on a machine: it downloads an archive (resuming
// where it was cut off), verifies its checksum, unpacks it, runs its install script
// once, and keeps the result under the archive's checksum, so that all fleets with
// the same build share it. Builds that are no longer used are removed when the disk
// gets full.
//
//	DIR/archives/SHA256       a downloaded archive; .part while it arrives
//	STAGING/SHA256.new/       a build being unpacked, and installed by its script
//	DIR/builds/SHA256/        the unpacked and installed build
//	DIR/builds/SHA256.log     the output of its install script
//
// Each instance gets its own tree (Tree): folders that it may write to, with hard
// links to the files of the build, which are read-only.
package install
