package fleet

import (
	"strconv"
	"strings"
)

// Size is what one instance takes of a host.
type Size struct {
	CPUMillis int `json:"cpu_millis"` // processors, in thousandths
	MemoryMiB int `json:"memory_mib"`
}

// SizeOf gives the meaning of an EC2 instance type on hosts of one's own: the
// processors and the memory that AWS publishes for it ("Amazon EC2 instance
// types"). The name says nothing else here. It is false for what is no type.
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

// burstable sizes follow no rule.
var burstable = map[string]Size{
	"micro":  {1000, 1 << 10},
	"small":  {1000, 2 << 10},
	"medium": {2000, 4 << 10},
	"large":  {2000, 8 << 10},
}

// processors gives the virtual processors of a size: large has 2, and each
// step from xlarge on as many fours as its number says.
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

// memoryRatio gives the MiB a processor of a family.
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
