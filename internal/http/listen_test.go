package http_test

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/testwait"
)

// follower reads an event stream line by line.
type follower struct {
	lines chan string
	t     testing.TB
}

// listen opens a stream.
func listen(t testing.TB, s *sitetest.Site, path, secret string, headers ...string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	response := must.Get(sitetest.NoRedirects.Do(s.Request(ctx, "GET", path, secret, nil, headers...)))(t)
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, %v", response.StatusCode, response.Header)
	}
	out := &follower{make(chan string, 1000), t}
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
func (l *follower) line(deadline <-chan time.Time, inVain string) (line string, open bool) {
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

// next returns the next line that says something.
func (l *follower) next() string {
	l.t.Helper()
	line, open := l.line(time.After(testwait.Timeout), "the stream is silent")
	if !open {
		l.t.Fatal("the stream ended")
	}
	return line
}

// soFar returns the lines that came and say something.
func (l *follower) soFar() (said []string) {
	for range len(l.lines) {
		if line := <-l.lines; says(line) {
			said = append(said, line)
		}
	}
	return said
}

// says tells a line that says something from what opens a stream and keeps it open.
func says(line string) bool { return !slices.Contains([]string{"", ":", "retry: 2000"}, line) }

// untilEnd waits until the server ends the stream, and returns what it still said.
func (l *follower) untilEnd() (said []string) {
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

// knock makes a request and returns the status without reading the body, which may be a stream.
func knock(t testing.TB, s *sitetest.Site, method, path, secret string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Timeout)
	defer cancel()
	response := must.Get(sitetest.NoRedirects.Do(s.Request(ctx, method, path, secret, nil)))(t)
	response.Body.Close()
	return response.StatusCode
}
