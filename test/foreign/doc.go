// Package foreign runs Muster's programs for other processors and systems in emulators: those
// for Linux on arm64 in QEMU, those for Windows in Wine. `make foreign` builds them first;
// `make snapshot` tries those of the release.
package foreign
