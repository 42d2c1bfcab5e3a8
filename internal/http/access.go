package http

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/scheduler"
	"headroom/internal/study"
)

// Access is the audience of a route. The Study… audiences are for routes with {id} in their
// pattern: a caller limited to one study passes for that study and gets 404 for any other.
type Access struct {
	words    string       // for people
	role     account.Role // the least
	oneStudy bool
}

var (
	Public        = Access{"nothing, open to all", account.Viewer, false}   // nobody need sign in
	SignedIn      = Access{"any credentials", account.Viewer, false}        // share links too; the handler shows what concerns the caller
	Viewer        = Access{"viewer", account.Viewer, false}                 // reads; not for callers limited to one study
	Operator      = Access{"operator", account.Operator, false}             // makes studies; not for callers limited to one study
	Admin         = Access{"admin", account.Admin, false}                   // everything else; not for callers limited to one study
	StudyViewer   = Access{"viewer of the study", account.Viewer, true}     // reads one study
	StudyOperator = Access{"operator of the study", account.Operator, true} // asks, tells and corrects in one study
	StudyAdmin    = Access{"admin of the study", account.Admin, true}       // shares one study
)

// pageOf is the header by which a page names the caller that it was made for. A request that the
// page makes while somebody else is signed in is refused.
const pageOf = "X-Page-Of"

// maxDiscarded is how many bytes beyond a limit are still read, so that a client that sends its
// whole body before it reads gets the answer.
const maxDiscarded = 64 << 20

// guard calls the route's handler for its audience only, and for no more callers at once than the
// quotas allow. The request that reaches an error page carries the caller's identity, if it is
// known.
func (s *Server) guard(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Body
		r.Body = http.MaxBytesReader(w, sent, cmp.Or(rt.Largest, request.MaxBody))
		if rt.StaysOpen { // beyond the server's write timeout
			http.NewResponseController(w).SetWriteDeadline(time.Time{})
		}
		place := rt.quotaFrom(&s.quotas)
		leave, err := place.takeForAddress(r, 1)
		defer leave()
		if err == nil {
			r, err = s.authorise(rt, r)
		}
		if err == nil {
			leave, err = place.takeForCredential(r, 1)
			defer leave()
		}
		if err == nil && !rt.anybody {
			body := &guardedBody{ReadCloser: r.Body, r: r, recheck: func() error { _, err := s.authorise(rt, r); return err }, checked: time.Now()}
			if rt.Largest == 0 { // routes with a limit of their own stream the body
				body.bodies = s.quotas.bodies
			}
			defer body.end()
			r.Body = body
		}
		if err == nil && rt.onlyReads() {
			out := s.quotas.newChunkedWriter(rt, w, r)
			defer out.send()
			w = out
		}
		if err == nil {
			err = rt.Handle(w, r)
		}
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			io.CopyN(io.Discard, sent, maxDiscarded)
		}
		if errors.Is(err, problem.AnothersPage) {
			w.Header().Set("HX-Refresh", "true")
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// authorise returns the request with its caller's identity, or why the caller may not use the
// route.
func (s *Server) authorise(rt route, r *http.Request) (*http.Request, error) {
	if !utf8.ValidString(r.URL.Path) || strings.ContainsFunc(r.URL.Path, unicode.IsControl) { // no stored identifier is like this
		return r, problem.NoSuchThing
	}
	if rt.anybody {
		return r, nil
	}
	authenticate := s.authenticate
	if rt.evenAway {
		authenticate = s.authenticateEvenAway
	}
	who, err := s.identify(r, func(secret string) (account.Identity, error) { return authenticate(r, secret) })
	if said := logEntryOf(r); err == nil {
		said.caller, said.by = who.Caller(), who.By()
	}
	switch {
	case err == nil && r.Header.Get(pageOf) != "" && r.Header.Get(pageOf) != who.Caller():
		return request.WithCaller(r, who), problem.AnothersPage
	case err == nil:
		r = request.WithCaller(r, who)
	case rt.access != Public:
		return r, err
	}
	return r, checkAudience(rt.audience(r), who, request.StudyID(r))
}

// identify returns who makes the request, by the Authorization header if there is one, else by the
// cookies.
func (s *Server) identify(r *http.Request, authenticate func(secret string) (account.Identity, error)) (account.Identity, error) {
	secrets, err := s.credentials(r)
	if err != nil {
		return account.Identity{}, err
	}
	err = problem.SignIn
	for _, secret := range secrets {
		var who account.Identity
		if who, err = authenticate(secret); err == nil {
			return who, nil
		}
		if !refused(err) {
			break // the database is away, which says nothing about the credential
		}
	}
	if errors.Is(err, problem.TooMany) && r.Header.Get("Authorization") == "" {
		err = problem.SignIn // a browser whose sign-in has ended may ask often
	}
	return account.Identity{}, err
}

// The cookies hold a person's session, the secret of a share link, that of a device on which people
// sign in again by PIN, and that of a browser which has opened a single-use link. A person who
// opens a share link keeps their session.
const (
	sessionCookie = "headroom"
	shareCookie   = "headroom-share"
	deviceCookie  = "headroom-device"
	linkCookie    = "headroom-link"
)

// cookieName adds the prefix with which browsers accept a cookie only over https and from this
// host.
func (s *Server) cookieName(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name
}

// credentials returns the secrets that came with a request, the strongest first.
func (s *Server) credentials(r *http.Request) ([]string, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, secret, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, problem.SignIn
		}
		return []string{strings.TrimSpace(secret)}, nil
	}
	var secrets []string
	for _, name := range []string{s.cookieName(sessionCookie), s.cookieName(shareCookie)} {
		if cookie, err := r.Cookie(name); err == nil {
			secrets = append(secrets, cookie.Value)
		}
	}
	return secrets, nil
}

func refused(err error) bool {
	return errors.Is(err, account.ErrNoCredentials) || errors.Is(err, account.ErrExpired) || errors.Is(err, problem.SignIn) || errors.Is(err, problem.TooMany)
}

// authenticate returns the identity of a token's, session's or share link's secret. Wrong secrets
// are counted.
func (s *Server) authenticate(r *http.Request, secret string) (account.Identity, error) {
	return checkSecret(s.throttle, r, secret, s.Accounts.Authenticate)
}

// authenticateEvenAway is authenticate, except that a secret which was good before is still good
// while the database is away.
func (s *Server) authenticateEvenAway(r *http.Request, secret string) (account.Identity, error) {
	who, err := s.authenticate(r, secret)
	if !errors.Is(err, study.ErrUnavailable) {
		return who, err
	}
	known, there := s.throttle.lastFound(secret).(account.Identity)
	if there && (known.ExpiresAt.IsZero() || time.Now().Before(known.ExpiresAt)) {
		return known, nil
	}
	return who, err
}

func clientAddress(r *http.Request) string {
	return httprate.CanonicalizeIP(middleware.GetClientIP(r.Context()))
}

// checkAudience returns nil if who belongs to the audience a. studyID is the study in the path.
// Callers without credentials get here on public routes only.
func checkAudience(a Access, who account.Identity, studyID string) error {
	switch {
	case a == Public:
		return nil
	case a.oneStudy && !who.MayRead(studyID):
		return problem.NoSuchThing
	case !a.oneStudy && a != SignedIn && who.StudyID != "":
		return problem.OneStudy
	case !who.Role.Includes(a.role):
		return problem.Needs(a.role, who.Role)
	}
	return nil
}

// Limits on wrong credentials, which forgotten scripts and guessers send. Secrets have 130 random
// bits: the limits bound the work that strangers cause, not their chances.
const (
	maxWrongAlike = 60 // wrong secrets a minute with the same beginning; after them the answer is 429
	prefixLength  = 8  // characters of that beginning
	maxRecognised = 10_000
	maxUnknown    = 4 // secrets that were never seen to be good, checked at once
)

// throttle keeps strangers who try credentials from slowing down others. Every credential is
// checked, so that a right one is accepted whatever came before it: one that was good before at
// once, others in turn, one of an address at a time and maxUnknown in all. (httprate's own
// middleware counts requests before they are answered, the right ones too, and refuses without
// checking.)
type throttle struct {
	perClient scheduler.Queues // by address, or by person or device where a PIN is derived, which takes a tenth of a second
	unknown   scheduler.Queues // of everyone
	wrong     *httprate.RateLimiter

	mu         sync.Mutex
	recognised map[[sha256.Size]byte]any // what was last found for secrets that are good, by their SHA-256
}

func newThrottle() *throttle {
	return &throttle{
		unknown:    scheduler.Queues{Places: maxUnknown},
		wrong:      httprate.NewRateLimiter(maxWrongAlike, time.Minute, httprate.WithResponseHeaders(httprate.ResponseHeaders{})), // problem.TooMany has them
		recognised: map[[sha256.Size]byte]any{},
	}
}

// checkSecret returns what evaluate finds for a secret. The error of a wrong secret is
// problem.TooMany after many wrong ones with the same beginning.
func checkSecret[T any](t *throttle, r *http.Request, secret string, evaluate func(ctx context.Context, secret string) (T, error)) (found T, err error) {
	if !t.recognises(secret) {
		leave, err := t.waitTurn(r, clientAddress(r))
		if err != nil {
			return found, err
		}
		defer leave()
	}
	found, err = evaluate(r.Context(), secret)
	t.remember(secret, found, err)
	begins := strings.TrimPrefix(secret, account.SecretPrefix)
	if refused(err) && t.wrong.OnLimit(nil, r, begins[:min(len(begins), prefixLength)]) {
		return found, problem.TooMany
	}
	return found, err
}

// waitTurn waits until no other secret of the named client, and fewer than maxUnknown of all
// clients, are being checked. The function it returns ends the turn.
func (t *throttle) waitTurn(r *http.Request, whose string) (func(), error) {
	leave, err := t.perClient.Enter(r.Context(), whose)
	if err != nil {
		return nil, err
	}
	goOn, err := t.unknown.Enter(r.Context(), "")
	if err != nil {
		leave()
		return nil, err
	}
	return func() { goOn(); leave() }, nil
}

func (t *throttle) recognises(secret string) bool { return t.lastFound(secret) != nil }

// lastFound returns what was found for a secret when it was last checked, nil if it is not known to
// be good.
func (t *throttle) lastFound(secret string) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.recognised[sha256.Sum256([]byte(secret))]
}

func (t *throttle) remember(secret string, found any, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch digest := sha256.Sum256([]byte(secret)); {
	case refused(err):
		delete(t.recognised, digest)
	case err == nil:
		if len(t.recognised) >= maxRecognised {
			clear(t.recognised)
		}
		t.recognised[digest] = found
	}
}

// quota limits how much of something one credential, and one address, may hold at once. An address
// may hold more, since a whole institute can share it.
type quota struct {
	what                string
	credential, address int // the most

	mu   sync.Mutex
	held map[string]int
}

// quotas keep one visitor from taking the server from all others. The limits are several times what
// a lecture hall or a busy script needs. Without them 6000 streams of one visitor made everybody's
// ask take 470 ms instead of 12, and 400 histories of 3000 rounds that nobody read held 1.9 GB.
type quotas struct {
	requests *quota           // under way
	open     *quota           // answers that stay open
	bodies   *quota           // bytes of requests
	unread   *quota           // bytes of large answers that are being sent
	making   scheduler.Queues // by credential: answers being computed at once; the others wait their turn
}

func newQuotas() quotas {
	atMost := func(what string, credential, address int) *quota {
		return &quota{what: what, credential: credential, address: address, held: map[string]int{}}
	}
	return quotas{
		requests: atMost("requests under way", 250, 1000),
		open:     atMost("answers that stay open", 300, 1000),
		bodies:   atMost("bytes of requests under way", 64<<20, 256<<20),
		unread:   atMost("bytes of answers that were not read yet", 64<<20, 256<<20),
		making:   scheduler.Queues{Places: max(8, 2*runtime.GOMAXPROCS(0))},
	}
}

// takeForAddress takes n for the address of a request, until give is called. A nil quota takes
// nothing.
func (q *quota) takeForAddress(r *http.Request, n int) (give func(), err error) {
	if q == nil {
		return noop, nil
	}
	return q.take("address", clientAddress(r), q.address, n)
}

// takeForCredential takes n for the credential of a request, if it has one, until give is called.
func (q *quota) takeForCredential(r *http.Request, n int) (give func(), err error) {
	who, known := request.Caller(r)
	if !known {
		return noop, nil
	}
	return q.take("credential", who.Caller(), q.credential, n)
}

func noop() {}

// take takes n for a holder who may have at most most. A holder of nothing may take more than that
// at once.
func (q *quota) take(kind, name string, most, n int) (give func(), err error) {
	holder := kind + " " + name
	q.mu.Lock()
	defer q.mu.Unlock()
	if held := q.held[holder]; held > 0 && held+n > most {
		return noop, problem.TooMuch(fmt.Sprintf("There are too many %s: %d for this %s, and at most %d are possible at once. Wait until some have ended.", q.what, held, kind, most))
	}
	q.held[holder] += n
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.held[holder] -= n; q.held[holder] <= 0 {
			delete(q.held, holder)
		}
	}, nil
}

func (q *quota) takeForBoth(r *http.Request, n int) (give func(), err error) {
	address, err := q.takeForAddress(r, n)
	if err != nil {
		return noop, err
	}
	credential, err := q.takeForCredential(r, n)
	if err != nil {
		address()
		return noop, err
	}
	return func() { credential(); address() }, nil
}

// guardedBody is the body of a request under way. Since it may arrive slowly, it checks after each
// recheckInterval that the caller may still use the route. Its bytes count against a quota, if there
// is one, in chunks: counting every read would take more memory than it saves.
type guardedBody struct {
	io.ReadCloser
	r         *http.Request
	recheck   func() error
	checked   time.Time
	bodies    *quota // nil: the bytes do not count
	uncounted int    // bytes left of the last chunk taken
	give      []func()
}

func (g *guardedBody) Read(into []byte) (int, error) {
	n, err := g.ReadCloser.Read(into)
	if time.Since(g.checked) > recheckInterval {
		if refused := g.recheck(); refused != nil {
			return 0, problem.Of(refused)
		}
		g.checked = time.Now()
	}
	if g.bodies == nil {
		return n, err
	}
	for g.uncounted -= n; g.uncounted < 0; g.uncounted += chunkSize {
		give, refused := g.bodies.takeForBoth(g.r, chunkSize)
		if refused != nil {
			return 0, refused
		}
		g.give = append(g.give, give)
	}
	return n, err
}

func (g *guardedBody) end() {
	for _, give := range g.give {
		give()
	}
}

// chunkSize is the length in bytes of the pieces in which answers are sent. Each must be taken
// within writeTime: a slow reader gets the whole answer, however long it takes, and one that does
// not read is cut off.
const chunkSize = 64 << 10

// chunkedWriter writes the answer to a request that only reads. Nothing is sent before the first
// bytes are there, so that the answer can still be refused until then.
type chunkedWriter struct {
	http.ResponseWriter
	control      *http.ResponseController
	r            *http.Request
	unread       *quota
	onFirstBytes func()
	status       int // set but not sent yet
}

// newChunkedWriter waits until the caller may have another large answer computed, and returns a
// writer for it, whose send must be called in the end.
func (q *quotas) newChunkedWriter(rt route, w http.ResponseWriter, r *http.Request) *chunkedWriter {
	out := &chunkedWriter{ResponseWriter: w, control: http.NewResponseController(w), r: r, unread: q.unread, onFirstBytes: noop}
	if who, known := request.Caller(r); known && rt.access.oneStudy && !rt.shared {
		if leave, err := q.making.Enter(r.Context(), who.Caller()); err == nil { // an error means that the caller has gone, which the handler sees too
			out.onFirstBytes = sync.OnceFunc(leave)
		}
	}
	return out
}

func (a *chunkedWriter) WriteHeader(status int) { a.status = status }

func (a *chunkedWriter) Write(text []byte) (int, error) {
	if len(text) > chunkSize {
		give, err := a.unread.takeForBoth(a.r, len(text))
		if err != nil {
			return 0, err
		}
		defer give()
	}
	a.send()
	sent := 0
	for part := range slices.Chunk(text, chunkSize) {
		_ = a.control.SetWriteDeadline(time.Now().Add(writeTime)) // where it cannot be set, the server's own holds
		n, err := a.ResponseWriter.Write(part)
		if sent += n; err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// send sends the status, if there is one that was not sent yet.
func (a *chunkedWriter) send() {
	a.onFirstBytes()
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
		a.status = 0
	}
}

func (a *chunkedWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }
