package dbtest

import (
	"os"
	"os/exec"
	"testing"

	"headroom/internal/must"
	"headroom/internal/testwait"
)

// TestWhoseParentDoesNotAskHasEnded: in a container, the first process may ask for nobody's end.
func TestWhoseParentDoesNotAskHasEnded(t *testing.T) {
	t.Parallel()
	child := exec.Command("true")
	must.Do(t, child.Start())
	testwait.Eventually(t, "a process has ended that nobody has waited for", func() bool { return ended(child.Process.Pid) })
	must.Do(t, child.Wait())
	if !ended(child.Process.Pid) || ended(os.Getpid()) {
		t.Error("this process has ended, or one that was waited for has not")
	}
}
