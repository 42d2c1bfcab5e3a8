package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
)

const (
	// heartbeat is the time between beats, which keep proxies from closing a quiet stream, detect
	// clients that have gone, and tell pages that the connection works: live.js waits for more than
	// two.
	heartbeat = 15 * time.Second
	// writeTime is how long one write to a stream may take.
	writeTime = 10 * time.Second
	// recheckInterval is the time after which it is checked again whether a caller is still
	// allowed.
	recheckInterval = time.Second
	// streamPage is how many events are read at a time at most.
	streamPage = 200
)

// stream is one open answer of server-sent events.
type stream struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	sent     int64           // the last event that the caller has
	accounts <-chan int64    // receives before an event is reported that was written after a change of accounts
	allowed  bool            // the caller may see the study, as accounts were when they were last looked at
	recheck  func() error    // nil says that the caller may; see stillAllowed
	gone     <-chan struct{} // the caller, or the credential
	stopping <-chan struct{}
}

// send writes and flushes text, after it has made sure that the caller may still see the study.
// Nothing else writes to an open stream.
func (e *stream) send(text string) error {
	if err := e.awaitAllowed(); err != nil {
		return err
	}
	e.control.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.control.Flush()
}

// awaitAllowed returns nil once the caller is known to be allowed, or an error once it is known not
// to be. While the database is away it waits.
func (e *stream) awaitAllowed() error {
	for {
		select {
		case <-e.accounts:
			e.allowed = false
		default:
		}
		if e.allowed {
			return nil
		}
		switch err := e.recheck(); {
		case err == nil:
			e.allowed = true
			continue // unless accounts changed meanwhile
		case refused(err), errors.Is(err, study.ErrNotFound):
			return err
		}
		select {
		case <-time.After(recheckInterval):
		case <-e.gone:
			return context.Canceled
		case <-e.stopping:
			return context.Canceled
		}
	}
}

// events is GET …/events: the ledger after Last-Event-ID, then every event as it is written.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	page := 1 // events read at a time: few where they are large, since many streams may be read slowly
	return s.follow(w, r, ":\n\n", false, func(out *stream, heard int64) error {
		for heard == 0 || heard > out.sent {
			events, err := s.Studies.Events(r.Context(), request.StudyID(r), out.sent, page)
			if err != nil {
				return err
			}
			out.allowed = false // the events may be newer than a change of accounts that the channel has not reported yet
			bytes := 0
			for _, event := range events {
				text, err := json.Marshal(event)
				if err != nil {
					return err
				}
				if err := out.send(fmt.Sprintf("id: %d\ndata: %s\n\n", event.Seq, text)); err != nil {
					return err
				}
				out.sent, bytes = event.Seq, bytes+len(text)
			}
			switch {
			case len(events) < page:
				return nil
			case bytes > chunkSize:
				page = max(1, page/2)
			case bytes <= chunkSize/2:
				page = min(2*page, streamPage)
			}
		}
		return nil
	})
}

// changes is the stream of pages: "changed" with the study's seq whenever it changes, upon which
// they fetch what they show; and "changed" with 0 after the database was away, when requests may
// have failed or the study may have gone back to an older backup.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) error {
	begun := false
	return s.follow(w, r, "event: beat\ndata:\n\n", true, func(out *stream, heard int64) error {
		away := begun && heard == 0
		begun = true
		if heard == 0 {
			snap, err := s.Studies.Snapshot(r.Context(), request.StudyID(r), 0)
			if err != nil {
				return err
			}
			heard, out.allowed = snap.Version, false // as above
			if heard < out.sent {                    // an older backup was restored: what comes next has a number that the page knows
				out.sent, away = heard, true
			}
		}
		switch {
		case heard > out.sent:
			out.sent = heard
		case away:
			heard = 0
		default:
			return nil
		}
		return out.send(fmt.Sprintf("id: %d\nevent: changed\ndata: %d\n\n", out.sent, heard))
	})
}

// resumeAfter returns the last event that the caller has, at most most: Last-Event-ID, else ?after,
// else 0.
func resumeAfter(r *http.Request, most int64) (int64, error) {
	after, err := request.Parse(r, func(q *request.Query) int64 { return q.Int("after", 0, most, 0) })
	if last := r.Header.Get("Last-Event-ID"); err == nil && last != "" {
		after, err = strconv.ParseInt(last, 10, 64)
		if err != nil || after < 0 || after > most {
			return 0, problem.Malformed("header", "Last-Event-ID", "Last-Event-ID must be the id of an event of this stream, such as 17.")
		}
	}
	return after, err
}

// follow opens a stream with beat at every heartbeat. It calls news at once and whenever the study
// may have changed, with the seq that was reported or 0 if none was, until the caller goes, the
// credential expires or the server stops. Errors before the first byte are answered; later ones end
// the stream, which the caller can resume. With back the caller may name an event that the study
// does not have, as after an older backup was restored; otherwise that is refused.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, beat string, back bool, news func(out *stream, heard int64) error) error {
	changes, unsubscribe := s.Database.Subscribe(request.StudyID(r))
	defer unsubscribe()
	accounts, unwatch := s.Database.SubscribeAccounts()
	defer unwatch()
	snap, err := s.Studies.Snapshot(r.Context(), request.StudyID(r), 0)
	if err != nil {
		return err
	}
	most := snap.Version
	if back {
		most = request.MaxSeq
	}
	sent, err := resumeAfter(r, most)
	if err != nil {
		return err
	}
	ctx, cancel := s.untilExpiry(r)
	defer cancel()
	out := &stream{w: w, control: http.NewResponseController(w), sent: sent, accounts: accounts, recheck: func() error { return s.stillAllowed(r) }, gone: ctx.Done(), stopping: s.Stopping}
	if err := out.recheck(); err != nil { // between the guard and the first poke that would be heard
		return err
	}
	out.allowed = true
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()

	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if err = out.send("retry: 2000\n\n"); err == nil {
		err = news(out, 0)
	}
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	for err == nil {
		select {
		case heard := <-changes:
			err = news(out, heard)
		case <-accounts:
			out.allowed = false
			err = out.awaitAllowed()
		case <-beats.C:
			out.allowed = false // in case a notice was lost
			err = out.send(beat)
		case <-ctx.Done():
			return nil
		case <-s.Stopping:
			return nil
		}
	}
	return nil
}

// untilExpiry returns a context that ends with the request or when the caller's credential expires.
func (s *Server) untilExpiry(r *http.Request) (context.Context, context.CancelFunc) {
	who, _ := request.Caller(r)
	if who.ExpiresAt.IsZero() {
		return context.WithCancel(r.Context())
	}
	return context.WithDeadline(r.Context(), who.ExpiresAt)
}

// stillAllowed returns nil if the caller is known to have the right to see the study now. The error
// is study.ErrNotFound, or one of a refused credential, if it is known not to; any other says that
// it cannot be known. It bypasses the throttle: the credential was accepted before.
func (s *Server) stillAllowed(r *http.Request) error {
	who, err := s.identify(r, func(secret string) (account.Identity, error) { return s.Accounts.Authenticate(r.Context(), secret) })
	if err == nil && !who.MayRead(request.StudyID(r)) {
		err = study.ErrNotFound
	}
	return err
}
