package foreign

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
)

// forwarding returns a library of Windows for amd64 with one function, which is a function of
// another library.
//
// Go's programs take random numbers from ProcessPrng of bcryptprimitives.dll, which Wine has only
// since release 9; in older ones they end at once. Of the function in their advapi32.dll the
// parameters are the same.
func forwarding(library, function, to string) []byte {
	const (
		address   = 0x1000 // of the only section
		alignment = 0x200
		directory = 40 // size of the table of exports
	)
	names := library + "\x00" + function + "\x00" + to + "\x00"
	table := uint32(address + directory)
	name := table + 10 // after one address, one address of a name and one number
	var exports bytes.Buffer
	for _, value := range []any{
		uint32(0), uint32(0), uint32(0), name, uint32(1), // attributes, time, version, name, first number
		uint32(1), uint32(1), table, table + 4, table + 8, // one function with a name: addresses of the lists
		name + uint32(len(library)+len(function)) + 2, name + uint32(len(library)) + 1, uint16(0),
	} {
		_ = binary.Write(&exports, binary.LittleEndian, value) // a buffer takes everything
	}
	exports.WriteString(names)
	size := uint32(exports.Len())

	var out bytes.Buffer
	start := make([]byte, 64)
	copy(start, "MZ")
	start[60] = byte(len(start)) // where the headers are
	out.Write(start)
	out.WriteString("PE\x00\x00")
	optional := pe.OptionalHeader64{
		Magic: 0x20b, ImageBase: 0x180000000, SectionAlignment: address, FileAlignment: alignment,
		SizeOfInitializedData: alignment, SizeOfImage: 2 * address, SizeOfHeaders: alignment,
		MajorOperatingSystemVersion: 6, MajorSubsystemVersion: 6, Subsystem: pe.IMAGE_SUBSYSTEM_WINDOWS_CUI,
		DllCharacteristics: pe.IMAGE_DLLCHARACTERISTICS_DYNAMIC_BASE | pe.IMAGE_DLLCHARACTERISTICS_NX_COMPAT, NumberOfRvaAndSizes: 16,
	}
	optional.DataDirectory[pe.IMAGE_DIRECTORY_ENTRY_EXPORT] = pe.DataDirectory{VirtualAddress: address, Size: size}
	section := pe.SectionHeader32{VirtualSize: size, VirtualAddress: address, SizeOfRawData: alignment, PointerToRawData: alignment,
		Characteristics: pe.IMAGE_SCN_CNT_INITIALIZED_DATA | pe.IMAGE_SCN_MEM_READ}
	copy(section.Name[:], ".rdata")
	for _, value := range []any{
		pe.FileHeader{
			Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: 1, SizeOfOptionalHeader: uint16(binary.Size(optional)),
			Characteristics: pe.IMAGE_FILE_EXECUTABLE_IMAGE | pe.IMAGE_FILE_LARGE_ADDRESS_AWARE | pe.IMAGE_FILE_DLL,
		}, optional, section,
	} {
		_ = binary.Write(&out, binary.LittleEndian, value)
	}
	out.Write(make([]byte, alignment-out.Len()))
	out.Write(exports.Bytes())
	out.Write(make([]byte, 2*alignment-out.Len()))
	return out.Bytes()
}
