//go:build !linux

package pglocal

import "syscall"

// dieWithParent does nothing where the kernel offers nothing: a server that outlives its program is
// stopped by the next start.
func dieWithParent(*syscall.SysProcAttr) {}
