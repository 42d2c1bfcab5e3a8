package db

import (
	"context"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// notifier sends NOTIFY for studies that changed, after their commit: inside the transaction NOTIFY
// would take a lock on the whole database until the commit. One goroutine sends, so changes that
// come while it is busy go together.
type notifier struct {
	pool *pgxpool.Pool
	wake chan struct{}

	mutex   sync.Mutex
	pending map[string]int64 // newest seq by study
}

// between is the least time from one announcement to the next: what changes meanwhile goes
// together.
const between = 20 * time.Millisecond

// lastWords bounds what is still sent when the program stops.
const lastWords = 2 * time.Second

func newNotifier(pool *pgxpool.Pool) *notifier {
	return &notifier{pool: pool, wake: make(chan struct{}, 1), pending: map[string]int64{}}
}

// changed takes note that a study reached seq, and returns at once.
func (n *notifier) changed(id string, seq int64) {
	n.add(map[string]int64{id: seq})
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notifier) add(changes map[string]int64) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for id, seq := range changes {
		n.pending[id] = max(n.pending[id], seq)
	}
}

func (n *notifier) take() map[string]int64 {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	taken := maps.Clone(n.pending)
	clear(n.pending)
	return taken
}

// run sends until ctx ends, and then what is left.
func (n *notifier) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			if err := n.send(last, n.take()); err != nil {
				slog.Warn("the last changes could not be announced", "error", err)
			}
			return
		case <-n.wake:
			n.sendPending(ctx)
			sleep(ctx, between)
		}
	}
}

// sendPending sends what is pending, again and again until it succeeds or ctx ends.
func (n *notifier) sendPending(ctx context.Context) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		changes := n.take()
		err := n.send(ctx, changes)
		if err == nil {
			return
		}
		n.add(changes)
		if ctx.Err() != nil {
			return
		}
		slog.Warn("changes could not be announced", "error", err, "retry_in", backoff)
		sleepAbout(ctx, backoff)
	}
}

func (n *notifier) send(ctx context.Context, changes map[string]int64) error {
	if len(changes) == 0 {
		return nil
	}
	payloads := make([]string, 0, len(changes))
	for id, seq := range changes {
		payloads = append(payloads, id+":"+strconv.FormatInt(seq, 10))
	}
	// An announcement need not outlive a crash, so its commit does not wait for the disk.
	_, err := n.pool.Exec(ctx, `
		SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, payload) FROM unnest($2::text[]) AS payload`, studyChannel, payloads)
	return unavailable(ctx, err)
}
