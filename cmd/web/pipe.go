package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errReaderGone says that nobody reads what this program writes.
var errReaderGone = errors.New("the reader of the output went away")

// untilReaderGone waits until nobody can read what is written to file. Go ends a program that writes to a pipe without a reader, but one that
// waits for something to write would not notice.
func untilReaderGone(file *os.File) error {
	ask := []unix.PollFd{{Fd: int32(file.Fd())}} // without events: errors and hang-ups are told unasked
	for {
		switch _, err := unix.Poll(ask, -1); {
		case err == nil:
			return errReaderGone
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
