package db

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pulse knows whether the database answers. A database that refuses says so by itself; one that is
// silent, as when it is frozen or the network is cut, would keep everybody waiting. While the pulse
// is lost, what waits for the database ends, and what comes new is not begun.
//
// Every statement, and every wait for a connection, passes here: pulse is the pools' tracer.
type pulse struct {
	mutex   sync.Mutex
	beating context.Context // ends when the pulse is lost
	lose    context.CancelFunc
}

// errSilent is why a statement was given up.
var errSilent = errors.New("the database does not answer")

func newPulse() *pulse {
	p := &pulse{}
	p.beating, p.lose = context.WithCancel(context.Background())
	return p
}

// lost ends what waits for the database; found lets begin again. Both may be said again and again.
func (p *pulse) lost() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lose()
}

func (p *pulse) found() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.beating.Err() != nil {
		p.beating, p.lose = context.WithCancel(context.Background())
	}
}

func (p *pulse) now() context.Context {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.beating
}

// bounded is a context that also ends when the pulse is lost.
type bounded struct {
	context.Context
	release func()
}

// bound returns ctx bounded by the pulse. Whoever gets it must release it.
func (p *pulse) bound(ctx context.Context) context.Context {
	within, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.now(), func() { cancel(errSilent) })
	return bounded{within, func() { stop(); cancel(nil) }}
}

func release(ctx context.Context) {
	if b, ok := ctx.(bounded); ok {
		b.release()
	}
}

// TraceAcquireStart begins a wait for a connection.
func (p *pulse) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return p.bound(ctx)
}

// TraceAcquireEnd ends it.
func (p *pulse) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	release(ctx)
}

// TraceQueryStart begins a statement.
func (p *pulse) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return p.bound(ctx)
}

// TraceQueryEnd ends it.
func (p *pulse) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	release(ctx)
}

// TraceBatchStart begins statements sent together.
func (p *pulse) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return p.bound(ctx)
}

// TraceBatchQuery is told of each of them.
func (p *pulse) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd ends them.
func (p *pulse) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	release(ctx)
}
