package http

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
)

const (
	// heartbeat keeps proxies from closing a quiet stream, and finds callers that have gone.
	heartbeat = 15 * time.Second
	// patience is how long one write to a stream may take.
	patience = 10 * time.Second
	// streamPage is how many events are read at a time.
	streamPage = 200
)

// stream is one open answer of server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send writes text and makes sure that it leaves.
func (e *stream) send(text string) error {
	e.control.SetWriteDeadline(time.Now().Add(patience))
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.control.Flush()
}

// events is GET …/events: the ledger from after Last-Event-ID on, then every event as it is written.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	sent, err := s.resumeAfter(r, 0)
	if err != nil {
		return err
	}
	return s.follow(w, r, func(out *stream, heard int64) error {
		for heard == 0 || heard > sent {
			events, err := s.studies.Events(r.Context(), request.StudyID(r), sent, streamPage)
			if err != nil {
				return err
			}
			for _, event := range events {
				text, err := json.Marshal(event)
				if err != nil {
					return err
				}
				if err := out.send(fmt.Sprintf("id: %d\ndata: %s\n\n", event.Seq, text)); err != nil {
					return err
				}
				sent = event.Seq
			}
			if len(events) < streamPage {
				return nil
			}
		}
		return nil
	})
}

// changes is the stream of pages: "changed" with the seq, as often as the study changes, so that they fetch what they show.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) error {
	sent, err := s.resumeAfter(r, 0)
	if err != nil {
		return err
	}
	return s.follow(w, r, func(out *stream, heard int64) error {
		if heard == 0 {
			snap, err := s.studies.Snapshot(r.Context(), request.StudyID(r), 0)
			if err != nil {
				return err
			}
			heard = snap.Version
		}
		if heard <= sent {
			return nil
		}
		sent = heard
		return out.send(fmt.Sprintf("id: %d\nevent: changed\ndata: %d\n\n", sent, sent))
	})
}

// resumeAfter is the last event that the caller has: Last-Event-ID, else ?after, else absent.
func (s *Server) resumeAfter(r *http.Request, absent int64) (int64, error) {
	q, err := request.ReadQuery(r.URL)
	if err != nil {
		return 0, err
	}
	after := q.Whole("after", 0, request.MaxSeq, absent)
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		after, err = strconv.ParseInt(last, 10, 64)
		if err != nil || after < 0 {
			return 0, problem.Malformed("header.Last-Event-ID", "Last-Event-ID must be the id of an event of this stream, such as 17.")
		}
	}
	return after, q.Err()
}

// follow opens a stream and calls news first and whenever the study changed, with the seq that it is said to have reached or 0 when nobody
// said, until the caller goes, the credential ends or the server stops. Errors before the first byte are answered; later ones end the stream, and the caller resumes.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, news func(out *stream, heard int64) error) error {
	changes, unsubscribe := s.db.Subscribe(request.StudyID(r))
	defer unsubscribe()
	accounts, unwatch := s.db.SubscribeAccounts()
	defer unwatch()
	if _, err := s.studies.Snapshot(r.Context(), request.StudyID(r), 0); err != nil {
		return err
	}
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()

	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	out := &stream{w: w, control: http.NewResponseController(w)}
	err := out.send("retry: 2000\n\n")
	if err == nil {
		err = news(out, 0)
	}
	ctx, cancel := s.untilExpiry(r)
	defer cancel()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for err == nil {
		select {
		case heard := <-changes:
			err = news(out, heard)
		case <-accounts:
			err = s.stillWelcome(r)
		case <-beat.C:
			if err = s.stillWelcome(r); err == nil {
				err = out.send(":\n\n")
			}
		case <-ctx.Done():
			return nil
		case <-s.stopping:
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

// stillWelcome tells whether the caller may still see the study. A database that is away for a moment says nothing about that.
func (s *Server) stillWelcome(r *http.Request) error {
	who, err := s.recognise(r)
	if err != nil && !refused(err) {
		return nil
	}
	if err != nil || !who.MayRead(request.StudyID(r)) {
		return study.ErrNotFound
	}
	return nil
}
