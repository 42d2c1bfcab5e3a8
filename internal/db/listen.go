package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The channels of PostgreSQL's NOTIFY. A study's payload is "id:seq".
const (
	studyChannel   = "headroom_study"
	accountChannel = "headroom_account"
)

// A lost connection is reopened after firstBackoff, then after increasing times up to lastBackoff.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 2 * time.Second
)

// At each heartbeat the listener queries the versions of watched studies, because a writer may die
// between its commit and its notification. If the database does not answer within answerTimeout,
// the breaker opens; the two times together limit how long a request may wait in vain.
const heartbeat = time.Second

// listener is the connection that receives notifications of changes and passes them to subscribers.
type listener struct {
	config  *pgx.ConnConfig
	breaker *breaker
	fence   *fence
	away    bool // the loss of the connection has been logged

	mutex   sync.Mutex
	watched map[string]*watched // by study id, or accounts
}

// accounts is the key of all accounts among the ids of studies, which are never empty.
const accounts = ""

// watched is a study, or all accounts, with its subscribers.
type watched struct {
	told        int64 // the newest seq published
	subscribers map[chan int64]struct{}
}

func newListener(config *pgx.ConnConfig, breaker *breaker, fence *fence) *listener {
	config = config.Copy()
	config.Tracer = nil // probe trips the breaker
	return &listener{config: config, breaker: breaker, fence: fence, watched: map[string]*watched{}}
}

// Subscribe returns a channel that receives the study's newest seq after each change, or 0 ("look
// for yourself") after the listener has reconnected. A newer value replaces one that was not
// received. Call cancel when done.
func (d *DB) Subscribe(studyID string) (changes <-chan int64, cancel func()) {
	return d.listener.subscribe(studyID)
}

// SubscribeAccounts returns a channel that receives 0 whenever a person, token, session or share
// has changed, so that long answers can authenticate their callers again.
func (d *DB) SubscribeAccounts() (changes <-chan int64, cancel func()) {
	return d.listener.subscribe(accounts)
}

func (l *listener) subscribe(id string) (changes <-chan int64, cancel func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	mine := make(chan int64, 1)
	w := l.watched[id]
	if w == nil {
		w = &watched{subscribers: map[chan int64]struct{}{}}
		l.watched[id] = w
	}
	w.subscribers[mine] = struct{}{}
	return mine, func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		delete(w.subscribers, mine)
		if len(w.subscribers) == 0 && l.watched[id] == w {
			delete(l.watched, id)
		}
	}
}

// run listens until ctx ends and reconnects whenever the connection is lost. It logs the loss and
// the recovery.
func (l *listener) run(ctx context.Context) {
	backoff := firstBackoff
	for before := false; ctx.Err() == nil; {
		connected, err := l.listen(ctx, before)
		if ctx.Err() != nil {
			return
		}
		if !l.away {
			slog.Warn("lost the connection that listens for changes; the database may be away", "error", err)
		}
		l.away = true
		before = before || connected
		if connected || errors.Is(err, errSilent) { // the time without an answer was long enough
			backoff = firstBackoff
		}
		sleep(ctx, backoff/2+rand.N(backoff/2+1)) // so that not all servers reconnect at once
		backoff = min(2*backoff, lastBackoff)
	}
}

// listen connects and passes on notifications until the connection fails; before says whether it
// was connected before.
func (l *listener) listen(ctx context.Context, before bool) (connected bool, err error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return false, err
	}
	defer closeConn(conn)
	if l.away {
		slog.Info("the database is there again: listening for changes")
		l.away = false
	}
	// Changes may have been missed while nobody listened. Accounts come first, so that nobody is
	// told of a study who lost access to it meanwhile. On the first connection all versions are
	// told below.
	l.publish(accounts, 0)
	if before {
		for _, id := range l.watchedStudies() {
			l.publish(id, 0)
		}
	}
	for l.fence.current(conn) {
		if err := l.compare(ctx, conn); err != nil {
			return true, err
		}
		if err := l.publishUntil(ctx, conn, time.Now().Add(heartbeat)); err != nil {
			return true, err
		}
	}
	return true, errors.New("another server is the primary now")
}

// watch checks now and then which of several servers is the primary.
func (l *listener) watch(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, findPrimaryEvery)
		l.fence.findPrimary(ctx, l.config)
	}
}

// watchBefore opens the breaker of a database that falls silent before the listener runs.
func (l *listener) watchBefore(ctx context.Context) {
	for sleep(ctx, heartbeat); ctx.Err() == nil; sleep(ctx, heartbeat) {
		if conn, err := l.connect(ctx); err == nil {
			closeConn(conn)
		}
	}
}

// connect opens the listening connection. Each server tried, and the search for the primary before,
// has its own time limit.
func (l *listener) connect(ctx context.Context) (conn *pgx.Conn, err error) {
	attempts := time.Duration(1 + len(hosts(&l.config.Config)))
	err = l.probe(ctx, (attempts+1)*l.config.ConnectTimeout, func(ctx context.Context) error {
		l.fence.findPrimary(ctx, l.config)
		config := l.config.Copy()
		l.fence.preferCurrent(&config.Config)
		if conn, err = pgx.ConnectConfig(ctx, config); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, "LISTEN "+studyChannel+"; LISTEN "+accountChannel)
		return err
	})
	if err != nil && conn != nil {
		closeConn(conn)
	}
	return conn, err
}

// probe asks the database something, gives up after most, and opens the breaker if there is no
// answer in time.
func (l *listener) probe(ctx context.Context, most time.Duration, ask func(ctx context.Context) error) error {
	silent := time.AfterFunc(l.config.ConnectTimeout, l.breaker.open)
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := ask(within)
	inTime := silent.Stop()
	switch {
	case err == nil:
		l.breaker.reset()
	case ctx.Err() == nil && !inTime:
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return err
}

func (l *listener) publishUntil(ctx context.Context, conn *pgx.Conn, then time.Time) error {
	hearing, cancel := context.WithDeadline(ctx, then)
	defer cancel()
	for {
		heard, err := conn.WaitForNotification(hearing)
		switch {
		case err == nil && heard.Channel == studyChannel:
			l.publishPayload(heard.Payload)
		case err == nil:
			l.publish(accounts, 0)
		case hearing.Err() != nil && ctx.Err() == nil && !conn.IsClosed():
			return nil
		default:
			return err
		}
	}
}

// compare queries the versions of watched studies and passes on those of which no notification
// told. It first passes on the notifications that came with the answer, so that no version is told
// before an earlier change of accounts.
func (l *listener) compare(ctx context.Context, conn *pgx.Conn) error {
	versions := map[string]int64{}
	err := l.probe(ctx, l.config.ConnectTimeout, func(ctx context.Context) error {
		rows, _ := conn.Query(ctx, `SELECT id, version FROM studies WHERE id = ANY ($1)`, l.watchedStudies()) // ForEachRow returns its error
		var id string
		var version int64
		_, err := pgx.ForEachRow(rows, []any{&id, &version}, func() error {
			versions[id] = version
			return nil
		})
		return err
	})
	if err == nil {
		err = l.publishUntil(ctx, conn, time.Now())
	}
	if err != nil {
		return err
	}
	for id, version := range versions {
		l.publish(id, version)
	}
	return nil
}

func (l *listener) watchedStudies() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Collect(maps.Keys(l.watched))
}

func (l *listener) publishPayload(payload string) {
	at := strings.LastIndexByte(payload, ':')
	if at < 0 {
		return
	}
	if seq, err := strconv.ParseInt(payload[at+1:], 10, 64); err == nil {
		l.publish(payload[:at], seq)
	}
}

// publish tells a study's subscribers of its newest seq, once, or of 0, every time.
func (l *listener) publish(id string, seq int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	w := l.watched[id]
	if w == nil || seq != 0 && seq <= w.told {
		return
	}
	w.told = max(w.told, seq)
	for subscriber := range w.subscribers {
		replace(subscriber, seq)
	}
}

// replace puts value into a channel of capacity one in place of one that was not received. Callers
// hold the mutex, so nobody else sends.
func replace[T any](channel chan T, value T) {
	select {
	case <-channel:
	default:
	}
	channel <- value
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// notifier sends NOTIFY for changed studies after their commit: within the transaction NOTIFY would
// take a global lock until the commit. A single goroutine sends, so that changes made while it is
// busy are sent together. If sending fails, listeners find the change at their next heartbeat.
type notifier struct {
	pool *pgxpool.Pool
	wake chan struct{}

	mutex   sync.Mutex
	pending map[string]int64 // newest seq by study
}

// announceInterval is the smallest interval between announcements; changes in it are announced
// together.
const announceInterval = 20 * time.Millisecond

// announceLimit limits an announcement, and so how long the last one delays a program that stops.
const announceLimit = 2 * time.Second

// queue queues the announcement that a study has reached seq, and returns at once.
func (n *notifier) queue(id string, seq int64) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.pending[id] = max(n.pending[id], seq)
	replace(n.wake, struct{}{})
}

// run sends announcements until ctx ends, then those that are left.
func (n *notifier) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-n.wake:
		}
		if err := n.send(context.WithoutCancel(ctx)); err != nil {
			slog.Warn("changes could not be announced", "error", err)
		}
		sleep(ctx, announceInterval)
	}
}

func (n *notifier) send(ctx context.Context) error {
	n.mutex.Lock()
	payloads := make([]string, 0, len(n.pending))
	for id, seq := range n.pending {
		payloads = append(payloads, id+":"+strconv.FormatInt(seq, 10))
	}
	clear(n.pending)
	n.mutex.Unlock()
	if len(payloads) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, announceLimit)
	defer cancel()
	// An announcement need not survive a crash, so its commit does not wait for the disk.
	_, err := n.pool.Exec(ctx, `
		SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, payload) FROM unnest($2::text[]) AS payload`, studyChannel, payloads)
	return unavailable(ctx, err)
}
