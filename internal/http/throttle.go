package http

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/httprate"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/scheduler"
)

// How many wrong credentials that begin alike are just refused in a minute, as somebody's forgotten
// script sends them or whoever guesses at one; those after are told to wait. What is guessed are
// 130 random bits: the numbers bound the work that strangers make, not their chances.
const (
	wrongAlike     = 60
	beginning      = 8 // characters of a secret
	mostRecognised = 10_000
	mostUnknown    = 4 // credentials that were never seen good, looked at at once
)

// throttle keeps strangers that try credentials from being in the way of others. Every credential
// is looked at, so that a right one is good whatever came before it; those that were good before at
// once, others in turn: one of an address at a time, and few in all. (httprate's own middleware
// counts requests before they are answered, the right ones too, and refuses without looking.)
type throttle struct {
	addresses scheduler.Queues
	unknown   scheduler.Queues // of all addresses
	wrong     *httprate.RateLimiter

	mu         sync.Mutex
	recognised map[[sha256.Size]byte]bool
}

func newThrottle() *throttle {
	return &throttle{
		unknown:    scheduler.Queues{Places: mostUnknown},
		wrong:      httprate.NewRateLimiter(wrongAlike, time.Minute, httprate.WithResponseHeaders(httprate.ResponseHeaders{})), // problem.TooMany has them
		recognised: map[[sha256.Size]byte]bool{},
	}
}

// look lets evaluate say whether a secret is good, and of what. One that is not, after many that
// began alike, is problem.TooMany.
func look[T any](t *throttle, r *http.Request, secret string, evaluate func(ctx context.Context, secret string) (T, error)) (found T, err error) {
	digest := sha256.Sum256([]byte(secret))
	if !t.recognises(digest) {
		leave, err := t.addresses.Enter(r.Context(), clientAddress(r))
		if err != nil {
			return found, err
		}
		defer leave()
		goOn, err := t.unknown.Enter(r.Context(), "")
		if err != nil {
			return found, err
		}
		defer goOn()
	}
	found, err = evaluate(r.Context(), secret)
	t.remember(digest, err)
	if refused(err) && t.wrong.OnLimit(nil, r, beginningOf(secret)) {
		return found, problem.TooMany
	}
	return found, err
}

func beginningOf(secret string) string {
	secret = strings.TrimPrefix(secret, account.SecretPrefix)
	return secret[:min(len(secret), beginning)]
}

func (t *throttle) recognises(digest [sha256.Size]byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.recognised[digest]
}

// remember takes note of what was found of a secret.
func (t *throttle) remember(digest [sha256.Size]byte, found error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case refused(found):
		delete(t.recognised, digest)
	case found == nil:
		if len(t.recognised) >= mostRecognised {
			clear(t.recognised)
		}
		t.recognised[digest] = true
	}
}
