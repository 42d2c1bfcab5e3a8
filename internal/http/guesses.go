package http

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/scheduler"
)

// How many wrong credentials that begin alike are just refused in a minute, as somebody's forgotten
// script sends them or whoever guesses at one; those after are told to wait. What is guessed are
// 130 random bits: the numbers bound the work that strangers make, not their chances.
const (
	guessesAlike   = 60
	guessingWindow = time.Minute
	beginning      = 8       // characters of a secret
	mostGuesses    = 100_000 // beginnings remembered
	mostRecognised = 10_000
	mostUnknown    = 4 // credentials that were never seen good, looked at at once
)

// guesses keeps strangers that try credentials from being in the way of others. Every credential is
// looked at, so that a right one is good whatever came before it; those that were good before at
// once, others in turn: one of an address at a time, and few in all.
type guesses struct {
	now       func() time.Time
	addresses scheduler.Queues
	unknown   scheduler.Queues // of all addresses

	mu         sync.Mutex
	since      time.Time
	wrong      map[string]int
	recognised map[[sha256.Size]byte]bool
}

func newGuesses() *guesses {
	return &guesses{now: time.Now, unknown: scheduler.Queues{Places: mostUnknown}, wrong: map[string]int{}, recognised: map[[sha256.Size]byte]bool{}}
}

// look lets evaluate say whether a secret is good. One that is not, after many that began alike, is
// problem.TooMany.
func (g *guesses) look(r *http.Request, secret string, evaluate func() error) error {
	digest := sha256.Sum256([]byte(secret))
	if !g.knows(digest) {
		leave, err := g.addresses.Enter(r.Context(), clientAddress(r))
		if err != nil {
			return err
		}
		defer leave()
		goOn, err := g.unknown.Enter(r.Context(), "")
		if err != nil {
			return err
		}
		defer goOn()
	}
	return g.judge(digest, beginningOf(secret), evaluate())
}

func beginningOf(secret string) string {
	secret = strings.TrimPrefix(secret, account.SecretPrefix)
	return secret[:min(len(secret), beginning)]
}

func (g *guesses) knows(digest [sha256.Size]byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.recognised[digest]
}

// judge remembers what was found of a secret, and says what its bearer is told.
func (g *guesses) judge(digest [sha256.Size]byte, begins string, found error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if found == nil {
		if len(g.recognised) >= mostRecognised {
			clear(g.recognised)
		}
		g.recognised[digest] = true
		return nil
	}
	if !refused(found) {
		return found
	}
	delete(g.recognised, digest)
	if now := g.now(); now.Sub(g.since) >= guessingWindow {
		g.since = now
		clear(g.wrong)
	}
	if g.wrong[begins] >= guessesAlike || g.wrong[begins] == 0 && len(g.wrong) >= mostGuesses {
		return problem.TooMany
	}
	g.wrong[begins]++
	return found
}
