package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// progress draws a bar on standard error when that is a terminal.
type progress struct {
	terminal bool
	games    int // to play
	rounds   int // of all of them
	kept     int // games found finished
	started  time.Time
	played   atomic.Int64 // rounds
	mutex    sync.Mutex
	drawn    time.Time
	drewAny  bool
}

func newProgress(games, rounds, kept int) *progress {
	info, err := os.Stderr.Stat()
	return &progress{terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, games: games, rounds: rounds, kept: kept, started: time.Now()}
}

// often is how long the bar stays as it is at least.
const often = 200 * time.Millisecond

// round counts one round played.
func (p *progress) round() {
	played := p.played.Add(1)
	if !p.terminal || !p.mutex.TryLock() {
		return
	}
	defer p.mutex.Unlock()
	if time.Since(p.drawn) < often {
		return
	}
	p.drawn, p.drewAny = time.Now(), true
	share := float64(played) / float64(p.rounds)
	left := time.Duration(float64(time.Since(p.started)) * (1 - share) / share).Round(time.Second)
	const width = 30
	full := int(share * width)
	fmt.Fprintf(os.Stderr, "\r[%s%s] %3.0f %% of %d games, %v left ", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*share, p.games, left)
}

// finish ends the bar.
func (p *progress) finish() {
	if p.drewAny {
		fmt.Fprintln(os.Stderr)
	}
	if p.kept > 0 {
		fmt.Fprintf(os.Stderr, "%d games were finished before and kept\n", p.kept)
	}
}
