package sitetest

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/testwait"
)

// Stream reads an event stream line by line.
type Stream struct {
	lines chan string
	t     testing.TB
}

// Listen opens a stream.
func (s *Site) Listen(path, secret string, headers ...string) *Stream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	response := must.Get(NoRedirects.Do(s.Request(ctx, "GET", path, secret, nil, headers...)))(s.t)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("status %d, %v", response.StatusCode, response.Header)
	}
	out := &Stream{make(chan string, 1000), s.t}
	go func() {
		defer response.Body.Close()
		defer close(out.lines)
		for scan := bufio.NewScanner(response.Body); scan.Scan(); {
			out.lines <- scan.Text()
		}
	}()
	return out
}

// line returns the next line that says something, unless the stream has ended; in vain is what is
// said when none comes in time.
func (l *Stream) line(deadline <-chan time.Time, inVain string) (line string, open bool) {
	l.t.Helper()
	for {
		select {
		case line, open := <-l.lines:
			if !open || says(line) {
				return line, open
			}
		case <-deadline:
			l.t.Fatal(inVain)
		}
	}
}

// Next returns the next line that says something.
func (l *Stream) Next() string {
	l.t.Helper()
	line, open := l.line(time.After(testwait.Timeout), "the stream is silent")
	if !open {
		l.t.Fatal("the stream ended")
	}
	return line
}

// SoFar returns the lines that came and say something.
func (l *Stream) SoFar() (said []string) {
	for range len(l.lines) {
		if line := <-l.lines; says(line) {
			said = append(said, line)
		}
	}
	return said
}

// says tells a line that says something from what opens a stream and keeps it open.
func says(line string) bool { return !slices.Contains([]string{"", ":", "retry: 2000"}, line) }

// UntilEnd waits until the server ends the stream, and returns what it still said.
func (l *Stream) UntilEnd() (said []string) {
	l.t.Helper()
	deadline := time.After(testwait.Timeout)
	for {
		line, open := l.line(deadline, "the stream did not end")
		if !open {
			return said
		}
		said = append(said, line)
	}
}
