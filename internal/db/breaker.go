package db

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// breaker is the circuit breaker of a database that does not answer. One that refuses says so by
// itself; one that is silent, as when it is frozen or the network is cut, would keep everybody
// waiting. While the breaker is open, what waits for the database ends, and what comes new is not
// begun.
//
// Every statement, and every wait for a connection, passes here: breaker is the pools' tracer.
type breaker struct {
	mutex  sync.Mutex
	closed context.Context // ends when the breaker opens
	trip   context.CancelFunc
}

// errSilent is why a statement was given up.
var errSilent = errors.New("the database does not answer")

func newBreaker() *breaker {
	b := &breaker{}
	b.closed, b.trip = context.WithCancel(context.Background())
	return b
}

// open ends what waits for the database; reset lets begin again. Both may be said again and again.
func (b *breaker) open() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.trip()
}

func (b *breaker) reset() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.closed.Err() != nil {
		b.closed, b.trip = context.WithCancel(context.Background())
	}
}

func (b *breaker) now() context.Context {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.closed
}

// bounded is a context that also ends when the breaker opens.
type bounded struct {
	context.Context
	release func()
}

// bound returns ctx bounded by the breaker. Whoever gets it must release it.
func (b *breaker) bound(ctx context.Context) context.Context {
	within, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.now(), func() { cancel(errSilent) })
	return bounded{within, func() { stop(); cancel(nil) }}
}

func release(ctx context.Context) {
	if b, ok := ctx.(bounded); ok {
		b.release()
	}
}

// TraceAcquireStart begins a wait for a connection, TraceAcquireEnd ends it.
func (b *breaker) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	release(ctx)
}

// TraceQueryStart begins a statement, TraceQueryEnd ends it.
func (b *breaker) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	release(ctx)
}

// TraceBatchStart begins statements sent together, TraceBatchEnd ends them; TraceBatchQuery is told
// of each.
func (b *breaker) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (b *breaker) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	release(ctx)
}
