package http_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"headroom/internal/db/dbtest"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
)

// TestRoundTrips: what an ask, a tell and a replayed state wait for PostgreSQL for, as
// docs/architecture.md says (“Round trips”). A server that has been at work for a while has
// prepared its statements, once a connection.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	wire, url := tapped(t, dbtest.URL(t))
	s := sitetest.On(t, url)
	s.Document = nil
	study := "/studies/" + s.NewStudy(sitetest.Screen)
	ask := func() string {
		return fmt.Sprint(study, "/trials/", s.API("POST", study+"/ask", `{}`).Want(201).At("trials/0/number"))
	}
	tell := func(trial string) {
		s.API("POST", trial+"/tell", `{"metrics": {"yield": 71.2, "impurity": 0.3}}`, "Idempotency-Key", trial).Want(200)
	}
	for range 3 {
		tell(ask())
		s.API("GET", study+"/state", nil).Want(200)
	}
	wire.take()
	trial := ask()
	asked := wire.take()
	tell(trial)
	told := wire.take()
	s.API("GET", study+"/state", nil).Want(200)
	read := wire.take()
	const (
		who   = "FROM credentials c"
		lock  = "BEGIN; SELECT pg_advisory_xact_lock("
		news  = "FROM studies WHERE id = $1; SELECT seq, at, by, kind, data, hash, author FROM events"
		write = "INSERT INTO events"
	)
	for what, c := range map[string]struct{ trips, want []string }{
		"ask":   {asked, []string{who, lock, news, write}},
		"tell":  {told, []string{who, write}},
		"state": {read, []string{who, news}},
	} {
		if !slices.EqualFunc(c.trips, c.want, strings.Contains) {
			t.Errorf("%s makes %d round trips, want %d:\n%s", what, len(c.trips), len(c.want), strings.Join(c.trips, "\n"))
		}
	}
}

// afterwards begins what nobody waits for: the lock of an ask that was answered is given back,
// changes are announced, and a listener that has heard nothing for a second asks what it may have
// missed.
var afterwards = []string{"rollback", "SELECT set_config('synchronous_commit', 'off', true), pg_notify(", "SELECT id, version FROM studies WHERE id = ANY"}

// tap is what a program and PostgreSQL say to each other on all their connections.
type tap struct {
	mutex sync.Mutex
	trips []string
}

// take returns the SQL of every round trip since it was asked last.
func (w *tap) take() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	taken := w.trips
	w.trips = nil
	return taken
}

// add adds a round trip that somebody waits for.
func (w *tap) add(statements []string) {
	trip := strings.Join(strings.Fields(strings.Join(statements, "; ")), " ")
	if slices.ContainsFunc(afterwards, func(begin string) bool { return strings.HasPrefix(trip, begin) }) {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.trips = append(w.trips, trip)
}

// tapped is a server's URL by which its connections go through a tap.
func tapped(t *testing.T, database string) (*tap, string) {
	t.Helper()
	at := must.Get(url.Parse(database))(t)
	query := at.Query()
	name := ".s.PGSQL." + query.Get("port")
	there := filepath.Join(query.Get("host"), name)
	folder := dbtest.Folder(t)
	query.Set("host", folder)
	at.RawQuery = query.Encode()
	listener := must.Get(net.Listen("unix", filepath.Join(folder, name)))(t)
	t.Cleanup(func() { listener.Close() })
	w := &tap{}
	go func() {
		for {
			program, err := listener.Accept()
			if err != nil {
				return
			}
			go w.connect(program, there)
		}
	}()
	return w, at.String()
}

// connect passes on what a connection's two ends say.
func (w *tap) connect(program net.Conn, address string) {
	defer program.Close()
	server, err := net.Dial("unix", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(program, server)
		program.Close()
	}()
	w.listen(program, server)
}

// listen passes on what the program says, message by message. A trip ends where it waits for the
// answer: at a simple query or a Sync.
func (w *tap) listen(program io.Reader, server io.Writer) {
	prepared := map[string]string{}
	var trip []string
	for first := true; ; first = false {
		kind, body, err := message(program, first)
		if err != nil {
			return
		}
		switch kind {
		case 'P': // Parse: name, statement
			name, rest, _ := bytes.Cut(body, []byte{0})
			sql, _, _ := bytes.Cut(rest, []byte{0})
			prepared[string(name)] = string(sql)
		case 'B': // Bind: portal, name
			_, rest, _ := bytes.Cut(body, []byte{0})
			name, _, _ := bytes.Cut(rest, []byte{0})
			trip = append(trip, prepared[string(name)])
		case 'Q':
			trip = append(trip, string(bytes.TrimRight(body, "\x00")))
		}
		if (kind == 'Q' || kind == 'S') && len(trip) > 0 {
			w.add(trip)
			trip = nil
		}
		if err := pass(server, kind, body); err != nil {
			return
		}
	}
}

// message reads one; the first of a connection has no kind.
func message(from io.Reader, first bool) (kind byte, body []byte, err error) {
	if !first {
		if err := binary.Read(from, binary.BigEndian, &kind); err != nil {
			return 0, nil, err
		}
	}
	var length uint32 // with itself
	if err := binary.Read(from, binary.BigEndian, &length); err != nil {
		return 0, nil, err
	}
	body = make([]byte, length-4)
	_, err = io.ReadFull(from, body)
	return kind, body, err
}

func pass(to io.Writer, kind byte, body []byte) error {
	var out []byte
	if kind != 0 {
		out = append(out, kind)
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)+4))
	_, err := to.Write(append(out, body...))
	return err
}
