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
	// heartbeat keeps proxies from closing a quiet stream, finds callers that have gone, and tells
	// pages that the connection stands: live.js waits for more than two.
	heartbeat = 15 * time.Second
	// writeTime is how long one write to a stream may take.
	writeTime = 10 * time.Second
	// recheckInterval is how long a stream waits before it asks anew whether its caller may stay.
	recheckInterval = time.Second
	// streamPage is how many events are read at a time at most.
	streamPage = 200
)

// stream is one open answer of server-sent events.
type stream struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	sent     int64           // the last event that the caller has
	accounts <-chan int64    // poked before any event is heard of that was written after a change of accounts
	allowed  bool            // the caller may see the study, as accounts were when they were last looked at
	recheck  func() error    // nil says that the caller may; see stillAllowed
	gone     <-chan struct{} // the caller, or the credential
	stopping <-chan struct{}
}

// send writes text and makes sure that it leaves, once it is known that the caller may see it:
// nothing but that lets anything through.
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

// awaitAllowed returns when the caller is known to be welcome, or with an error when not any more.
// A database that is away keeps the stream waiting.
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

// events is GET …/events: the ledger from after Last-Event-ID on, then every event as it is
// written.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	page := 1 // so many events are read at a time: of large ones few, since many streams may be read slowly
	return s.follow(w, r, ":\n\n", false, func(out *stream, heard int64) error {
		for heard == 0 || heard > out.sent {
			events, err := s.Studies.Events(r.Context(), request.StudyID(r), out.sent, page)
			if err != nil {
				return err
			}
			out.allowed = false // what was read may have been written after a change of accounts that no poke has told of yet
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

// changes is the stream of pages: "changed" with the seq, as often as the study changes, so that
// they fetch what they show; and with 0 after the database was away, when what they asked for may have
// been refused, or went back.
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

// resumeAfter is the last event that the caller has, which is most or less: Last-Event-ID, else ?after,
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

// follow opens a stream, in which beat stands at every heartbeat, and calls news first and whenever
// the study changed, with the seq that it is said to have reached or 0 when nobody said, until the
// caller goes, the credential ends or the server stops. Errors before the first byte are answered;
// later ones end the stream, and the caller resumes. back says that the caller follows a study that
// went back behind what it has, with an older backup; others are told that it is not there.
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
			out.allowed = false // in case that nobody told of it
			err = out.send(beat)
		case <-ctx.Done():
			return nil
		case <-s.Stopping:
			return nil
		}
	}
	return nil
}

// untilExpiry ends with the request or the caller's credential.
func (s *Server) untilExpiry(r *http.Request) (context.Context, context.CancelFunc) {
	who, _ := request.Caller(r)
	if who.ExpiresAt.IsZero() {
		return context.WithCancel(r.Context())
	}
	return context.WithDeadline(r.Context(), who.ExpiresAt)
}

// stillAllowed is nil when the caller is known to have the right to see the study now; the error is
// one of a credential that is refused, or study.ErrNotFound, when it is known not to. Any other says
// that it cannot be known. It is no guess at a credential: this one was let in before.
func (s *Server) stillAllowed(r *http.Request) error {
	who, err := s.recognise(r, func(secret string) (account.Identity, error) { return s.Accounts.Authenticate(r.Context(), secret) })
	if err == nil && !who.MayRead(request.StudyID(r)) {
		err = study.ErrNotFound
	}
	return err
}
