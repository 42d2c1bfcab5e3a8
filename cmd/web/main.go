// Command headroom (cmd/web) is the whole program: the web server, and the few commands that look
// after its data.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// version is set by the build.
var version = "development"

// brokenPipe is the exit status by which a shell says that a program's reader has gone.
const brokenPipe = 128 + int(syscall.SIGPIPE)

func main() {
	err := run(os.Args[1:])
	switch {
	case errors.Is(err, errReaderGone):
		os.Exit(brokenPipe) // quietly: “watch | head -1” has what it wanted
	case err != nil:
		fmt.Fprintln(os.Stderr, "headroom: "+strings.Join(strings.Fields(err.Error()), " "))
		os.Exit(1)
	}
}

func run(args []string) error {
	// The first signal asks for an orderly end; after it a second one ends the program at once. A
	// terminal that is closed is one, but under nohup.
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) {
		ends = ends[:2]
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := perform(ctx, args)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

func perform(ctx context.Context, args []string) error {
	name := "serve"
	switch {
	case len(args) == 0:
	case !strings.HasPrefix(args[0], "-"):
		name, args = args[0], args[1:]
	case slices.Contains([]string{"-h", "-help", "--help"}, args[0]):
		name, args = "help", nil
	case slices.Contains([]string{"-version", "--version"}, args[0]):
		name, args = "version", nil
	}
	one, err := findCommand(name)
	if err != nil {
		return err
	}
	return one.perform(ctx, args)
}

// say prints what a command has to say. Its error is that of writing to standard output.
func say(text string) error {
	_, err := fmt.Println(strings.TrimSpace(text))
	return err
}
