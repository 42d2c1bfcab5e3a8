package db

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Channels of PostgreSQL's NOTIFY. A study's payload is "id:seq".
const (
	studyChannel   = "headroom_study"
	accountChannel = "headroom_account"
)

// A lost connection is tried again after firstBackoff, then ever later up to lastBackoff.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

// quietTooLong is how long the listener waits in silence before it asks the server whether it is still there: a connection
// that a firewall forgot says nothing either.
const quietTooLong = 30 * time.Second

// listener is the one connection that hears of changes, and hands them to whoever subscribed.
type listener struct {
	config *pgx.ConnConfig

	mutex    sync.Mutex
	studies  map[string]map[chan int64]struct{}
	accounts map[chan struct{}]struct{}
}

func newListener(config *pgx.ConnConfig) *listener {
	return &listener{config: config, studies: map[string]map[chan int64]struct{}{}, accounts: map[chan struct{}]struct{}{}}
}

// Subscribe returns a channel that receives the study's newest seq after each change, or 0 after the listener
// reconnected ("look for yourself"). Values not yet taken are replaced by newer ones. Call cancel when done.
func (d *DB) Subscribe(studyID string) (changes <-chan int64, cancel func()) {
	l := d.listener
	l.mutex.Lock()
	defer l.mutex.Unlock()
	mine := make(chan int64, 1)
	if l.studies[studyID] == nil {
		l.studies[studyID] = map[chan int64]struct{}{}
	}
	l.studies[studyID][mine] = struct{}{}
	return mine, func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		delete(l.studies[studyID], mine)
		if len(l.studies[studyID]) == 0 {
			delete(l.studies, studyID)
		}
	}
}

// SubscribeAccounts returns a channel that is poked whenever a person, token, session or share changed, so that whoever
// serves a long answer can authenticate its caller again.
func (d *DB) SubscribeAccounts() (pokes <-chan struct{}, cancel func()) {
	l := d.listener
	l.mutex.Lock()
	defer l.mutex.Unlock()
	mine := make(chan struct{}, 1)
	l.accounts[mine] = struct{}{}
	return mine, func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		delete(l.accounts, mine)
	}
}

// run listens until ctx ends, connecting again whenever the connection is lost.
func (l *listener) run(ctx context.Context) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		connected, err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if connected {
			backoff = firstBackoff
		}
		slog.Warn("lost the connection that listens for changes", "error", err, "retry_in", backoff)
		pause(ctx, backoff)
		backoff = min(2*backoff, lastBackoff)
	}
}

// listen connects and hands on what it hears until the connection fails.
func (l *listener) listen(ctx context.Context) (connected bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, channel := range []string{studyChannel, accountChannel} {
		if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
			return false, err
		}
	}
	l.pokeAll() // for what was missed while nobody listened
	for {
		if err := l.hear(ctx, conn); err != nil {
			return true, err
		}
	}
}

// hear waits for one notification, or makes sure after a long silence that the connection still works.
func (l *listener) hear(ctx context.Context, conn *pgx.Conn) error {
	patience, cancel := context.WithTimeout(ctx, quietTooLong)
	defer cancel()
	heard, err := conn.WaitForNotification(patience)
	switch {
	case err == nil && heard.Channel == studyChannel:
		l.tellStudy(heard.Payload)
	case err == nil:
		l.tellAccounts()
	case patience.Err() != nil && ctx.Err() == nil && !conn.IsClosed():
		check, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		return conn.Ping(check)
	}
	return err
}

func (l *listener) tellStudy(payload string) {
	at := strings.LastIndexByte(payload, ':')
	if at < 0 {
		return
	}
	seq, err := strconv.ParseInt(payload[at+1:], 10, 64)
	if err != nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for subscriber := range l.studies[payload[:at]] {
		replace(subscriber, seq)
	}
}

func (l *listener) tellAccounts() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for subscriber := range l.accounts {
		replace(subscriber, struct{}{})
	}
}

func (l *listener) pokeAll() {
	l.mutex.Lock()
	for _, subscribers := range l.studies {
		for subscriber := range subscribers {
			replace(subscriber, 0)
		}
	}
	l.mutex.Unlock()
	l.tellAccounts()
}

// replace puts value into a channel of capacity one, in place of one that was not taken. Its callers hold the
// mutex, so nobody else sends.
func replace[T any](channel chan T, value T) {
	select {
	case <-channel:
	default:
	}
	channel <- value
}

// pause waits about d, or until ctx ends. The spread keeps servers from coming back all at once.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
