package http

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"headroom/internal/account"
	"headroom/internal/http/problem"
)

// How many wrong credentials are looked at in a minute: those that begin alike, which somebody's forgotten script sends as well as whoever
// guesses at one credential, and those from one address, behind which a whole institute can be.
const (
	guessesAlike   = 60
	guessesFrom    = 600
	guessingWindow = time.Minute
	beginning      = 8       // characters of a secret
	mostGuesses    = 100_000 // beginnings and addresses remembered
	mostRecognised = 10_000
)

// guesses keeps strangers from trying credentials. One that was good before is looked at whatever else comes from its address; beyond the
// limits no other one is, right or wrong.
type guesses struct {
	now func() time.Time

	mu         sync.Mutex
	since      time.Time
	wrong      map[string]int
	recognised map[[sha256.Size]byte]bool
}

func newGuesses() *guesses {
	return &guesses{now: time.Now, wrong: map[string]int{}, recognised: map[[sha256.Size]byte]bool{}}
}

// look lets evaluate say whether a secret is good, if it may be looked at. Until that is known it counts as wrong.
func (g *guesses) look(r *http.Request, secret string, evaluate func() error) error {
	keys := [2]string{"address " + clientAddress(r), "secret " + beginningOf(secret)}
	digest := sha256.Sum256([]byte(secret))
	if !g.begin(keys, digest) {
		return problem.TooMany
	}
	err := evaluate()
	g.end(keys, digest, err)
	return err
}

func beginningOf(secret string) string {
	secret = strings.TrimPrefix(secret, account.SecretPrefix)
	return secret[:min(len(secret), beginning)]
}

func (g *guesses) begin(keys [2]string, digest [sha256.Size]byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); now.Sub(g.since) >= guessingWindow {
		g.since = now
		clear(g.wrong)
	}
	if !g.recognised[digest] && (g.wrong[keys[0]] >= guessesFrom || g.wrong[keys[1]] >= guessesAlike || len(g.wrong) >= mostGuesses) {
		return false
	}
	for _, key := range keys {
		g.wrong[key]++
	}
	return true
}

// end takes back what was counted unless the secret is wrong.
func (g *guesses) end(keys [2]string, digest [sha256.Size]byte, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if refused(err) {
		delete(g.recognised, digest)
		return
	}
	for _, key := range keys {
		if g.wrong[key]--; g.wrong[key] <= 0 {
			delete(g.wrong, key)
		}
	}
	if err == nil {
		if len(g.recognised) >= mostRecognised {
			clear(g.recognised)
		}
		g.recognised[digest] = true
	}
}
