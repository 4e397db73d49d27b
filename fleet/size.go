package fleet

import (
	"strconv"
	"strings"
)

// Size is the resources that one instance uses on a host.
type Size struct {
	CPUMillis int `json:"cpu_millis"` // processors, in thousandths
	MemoryMiB int `json:"memory_mib"`
}

// SizeOf returns the processors and memory that AWS publishes for an EC2 instance type
// ("Amazon EC2 instance types"), which an instance of that type uses on a host. It
// returns false for an unknown type.
func SizeOf(instanceType string) (Size, bool) {
	family, size, _ := strings.Cut(instanceType, ".")
	if family == "t2" {
		s, ok := burstable[size]
		return s, ok
	}
	cpus, ok := processors(size)
	ratio := memoryRatio(family)
	if !ok || ratio == 0 {
		return Size{}, false
	}
	return Size{cpus * 1000, cpus * ratio}, true
}

// burstable lists the sizes of the family t2, which follow no rule.
var burstable = map[string]Size{
	"micro":  {1000, 1 << 10},
	"small":  {1000, 2 << 10},
	"medium": {2000, 4 << 10},
	"large":  {2000, 8 << 10},
}

// processors returns the number of virtual processors of a size: large has 2, xlarge 4
// and Nxlarge 4N.
func processors(size string) (int, bool) {
	switch size {
	case "medium":
		return 1, true
	case "large":
		return 2, true
	case "xlarge":
		return 4, true
	}
	times, isXL := strings.CutSuffix(size, "xlarge")
	n, err := strconv.Atoi(times)
	return 4 * n, isXL && err == nil && n > 0
}

// memoryRatio returns the memory per processor of a family, in MiB, or 0 if it is
// unknown.
func memoryRatio(family string) int {
	switch family {
	case "c3", "c4":
		return 1920
	case "m3":
		return 3840
	case "r3", "r4":
		return 7808
	case "c5n":
		return 2688
	case "":
		return 0
	}
	switch family[0] {
	case 'c', 'g':
		return 2 << 10
	case 'm':
		return 4 << 10
	case 'r':
		return 8 << 10
	}
	return 0
}
