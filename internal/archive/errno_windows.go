package archive

import "syscall"

var errNotFolder error = syscall.ERROR_PATH_NOT_FOUND
