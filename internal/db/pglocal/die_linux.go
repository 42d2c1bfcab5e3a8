package pglocal

import "syscall"

// dieWithParent has the kernel stop the server in order when the thread that started it ends, so
// that kill -9 of this program leaves no server behind.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGINT }
