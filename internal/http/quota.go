package http

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/scheduler"
)

// quota is how much of something one credential, and one address, may hold at once. An address has
// more, since an institute can be behind it.
type quota struct {
	what                string
	credential, address int // the most

	mu   sync.Mutex
	held map[string]int
}

// quotas keep one visitor from taking the server from all others. The numbers are several times
// what a lecture hall or a busy script needs. Without them 6000 streams of one visitor made
// everybody's ask take 470 ms in place of 12, and 400 histories of 3000 rounds that nobody read
// held 1.9 GB.
type quotas struct {
	requests *quota           // under way
	open     *quota           // answers that stay open
	bodies   *quota           // bytes of requests
	unread   *quota           // bytes of large answers that are being sent
	making   scheduler.Queues // of one credential, so many large answers are worked out at once, and the others in turn
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

// ofAddress takes n for the address of a request, to be given back; nil takes nothing.
func (q *quota) ofAddress(r *http.Request, n int) (give func(), err error) {
	if q == nil {
		return nothing, nil
	}
	return q.take("address", clientAddress(r), q.address, n)
}

// ofCredential takes n for the credential of a request, if that is known.
func (q *quota) ofCredential(r *http.Request, n int) (give func(), err error) {
	who, known := request.Caller(r)
	if !known {
		return nothing, nil
	}
	return q.take("credential", who.Caller(), q.credential, n)
}

func nothing() {}

// take takes n for somebody who may have most; one thing alone may be larger.
func (q *quota) take(kind, name string, most, n int) (give func(), err error) {
	holder := kind + " " + name
	q.mu.Lock()
	defer q.mu.Unlock()
	if held := q.held[holder]; held > 0 && held+n > most {
		return nothing, problem.TooMuch(fmt.Sprintf("There are too many %s: %d for this %s, and at most %d are possible at once. Wait until some have ended.", q.what, held, kind, most))
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

// both takes n for the address and the credential of a request.
func (q *quota) both(r *http.Request, n int) (give func(), err error) {
	address, err := q.ofAddress(r, n)
	if err != nil {
		return nothing, err
	}
	credential, err := q.ofCredential(r, n)
	if err != nil {
		address()
		return nothing, err
	}
	return func() { credential(); address() }, nil
}

// heldBody is a body whose bytes count as long as the request is under way.
type heldBody struct {
	io.ReadCloser
	r      *http.Request
	bodies *quota
	give   []func()
}

func (h *heldBody) Read(into []byte) (int, error) {
	n, err := h.ReadCloser.Read(into)
	if n == 0 {
		return n, err
	}
	give, refused := h.bodies.both(h.r, n)
	if refused != nil {
		return 0, refused
	}
	h.give = append(h.give, give)
	return n, err
}

func (h *heldBody) end() {
	for _, give := range h.give {
		give()
	}
}

// A large answer is sent in pieces, each of which must be taken within the time that one to a
// stream may take; whoever does not read is cut.
const piece = 64 << 10

// answer is one to a request that only reads. Nothing of it is sent before its first bytes are
// there, so that it can still be refused then.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	r       *http.Request
	unread  *quota
	made    func() // is called when the first bytes are there
	status  int    // said, and not sent
}

// answering waits for the place in which an answer is made, and returns what it is written to. end
// must be called.
func (q *quotas) answering(rt route, w http.ResponseWriter, r *http.Request) (out *answer, end func()) {
	out = &answer{ResponseWriter: w, control: http.NewResponseController(w), r: r, unread: q.unread, made: nothing}
	if who, known := request.Caller(r); known && rt.access.forStudy() && !rt.shared {
		if leave, err := q.making.Enter(r.Context(), who.Caller()); err == nil { // else the caller has gone, as the handler sees
			out.made = sync.OnceFunc(leave)
		}
	}
	return out, out.send
}

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(text []byte) (int, error) {
	if len(text) > piece {
		give, err := a.unread.both(a.r, len(text))
		if err != nil {
			return 0, err
		}
		defer give()
	}
	a.send()
	sent := 0
	for len(text)-sent > piece {
		_ = a.control.SetWriteDeadline(time.Now().Add(writeTime)) // who cannot set it keeps the server's own
		n, err := a.ResponseWriter.Write(text[sent : sent+piece])
		if sent += n; err != nil {
			return sent, err
		}
	}
	n, err := a.ResponseWriter.Write(text[sent:])
	return sent + n, err
}

// send sends the status that was said, if any.
func (a *answer) send() {
	a.made()
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
		a.status = 0
	}
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
