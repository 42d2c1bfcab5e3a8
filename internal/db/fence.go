package db

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/files"
	"headroom/internal/lists"
	"headroom/internal/study"
)

// saveEvery is how often the versions seen are written to the file. A new timeline is written at
// once.
const saveEvery = 5 * time.Second

// fence refuses a database server that lacks what was already seen. It records the timeline of the
// primary, which PostgreSQL increments each time a standby is promoted, and the end of each study's
// ledger as last read or written. These ends are also known to survive a failover, as far as the
// database guarantees that (see confirmer).
type fence struct {
	file      string        // where it is saved; "" for nowhere
	promoted  chan struct{} // receives when a new timeline is to be saved
	promotion func()        // called when another server has become the primary

	mutex    sync.Mutex
	all      map[string]*highWater // by database
	database string                // the one in use; "" until a server is admitted
	admitted identity              // the server that last passed all checks
	host     host                  // the one to connect to first
	refused  map[string]string

	changed atomic.Bool // since it was saved
}

// highWater is what was seen of one database.
type highWater struct {
	Timeline int64                  `json:"timeline"`
	Studies  map[string]study.Known `json:"studies"`
}

// identity is what a server reports about itself.
type identity struct {
	address  string
	database string // the cluster's system identifier, which its copies share, and the database's number in it
	standby  bool
	timeline int64
	started  string
}

// newFence returns a fence that has seen nothing. It is not saved if file is "".
func newFence(file string) *fence {
	return &fence{file: file, promoted: make(chan struct{}, 1), promotion: func() {}, all: map[string]*highWater{}, refused: map[string]string{}}
}

// load adds what other programs have seen and saved in the same file.
func (f *fence) load() error {
	if f.file == "" {
		return nil
	}
	text, err := os.ReadFile(f.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var kept map[string]*highWater
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil && (kept == nil || slices.Contains(slices.Collect(maps.Values(kept)), nil)) {
		err = errors.New("it has null where it should say what was seen")
	}
	if err != nil {
		return fmt.Errorf("the file of what was seen of the database cannot be read: %w: mend it; if no database server can have gone back, remove %s instead", err, f.file)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for database, other := range kept {
		mine := f.seenOf(database)
		mine.Timeline = max(mine.Timeline, other.Timeline)
		f.advance(mine.Studies, other.Studies)
	}
	return nil
}

// seenOf returns what was seen of a database, here of the one in use. Callers hold the mutex.
func (f *fence) seenOf(database string) *highWater {
	if f.all[database] == nil {
		f.all[database] = &highWater{Studies: map[string]study.Known{}}
	}
	return f.all[database]
}

func (f *fence) seenHere() *highWater { return f.seenOf(f.database) }

// timeline returns the highest timeline seen.
func (f *fence) timeline() int64 {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.seenHere().Timeline
}

// knows reports whether everything in read is known to survive a failover.
func (f *fence) knows(read map[string]study.Known) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	known := f.seenHere().Studies
	for id, end := range read {
		if known[id].Version < end.Version {
			return false
		}
	}
	return true
}

// record records ends of ledgers that survive a failover.
func (f *fence) record(ends map[string]study.Known) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.advance(f.seenHere().Studies, ends)
}

// advance replaces the ends in known that are older.
func (f *fence) advance(known, ends map[string]study.Known) {
	for id, end := range ends {
		if known[id].Version < end.Version {
			known[id] = end
			f.changed.Store(true)
		}
	}
}

// save writes what was seen to the file, merged with what other programs wrote there.
func (f *fence) save() error {
	if f.file == "" {
		return nil
	}
	if err := f.load(); err != nil {
		return err
	}
	f.mutex.Lock()
	text, err := json.MarshalIndent(f.all, "", " ")
	f.changed.Store(false)
	f.mutex.Unlock()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.file), 0o700); err != nil {
		return err
	}
	return files.CreateWhole(f.file, func(draft io.Writer) error { _, err := draft.Write(text); return err })
}

// saveChanges saves changes now and then and at the end, and retries what could not be saved.
func (f *fence) saveChanges(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(saveEvery):
		case <-f.promoted:
		}
		if !f.changed.Load() {
			continue
		}
		if err := f.save(); err != nil {
			slog.Error("what was seen of the database cannot be kept", "error", err)
			f.changed.Store(true)
		}
	}
}

// identify asks a server for its identity. A standby has no timeline of its own yet.
const identify = `
	SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()),
		pg_is_in_recovery(), CASE WHEN pg_is_in_recovery() THEN '0' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END, pg_postmaster_start_time()`

func identityOf(ctx context.Context, conn *pgconn.PgConn) (identity, error) {
	results, err := conn.Exec(ctx, identify).ReadAll()
	if err != nil {
		return identity{}, err
	}
	said := results[0].Rows[0]
	timeline, err := strconv.ParseInt(string(said[2]), 16, 64) // a WAL file's name begins with it
	return identity{conn.Conn().RemoteAddr().String(), string(said[0]), string(said[1]) == "t", timeline, string(said[3])}, err
}

// timelineKey is the key under which a connection stores the timeline of its server.
const timelineKey = "headroom timeline"

// admit refuses a connection to a server that takes no writes or lacks what was seen. It is called
// for every new connection.
func (f *fence) admit(ctx context.Context, conn *pgconn.PgConn) error {
	is, err := identityOf(ctx, conn)
	if err != nil {
		return err
	}
	return f.admitAs(ctx, conn, is)
}

func (f *fence) admitAs(ctx context.Context, conn *pgconn.PgConn, is identity) error {
	if is.standby {
		return fmt.Errorf("%s is a standby, which takes no writes: %w", is.address, study.ErrUnavailable)
	}
	known, err := f.checkTimeline(is)
	if err == nil && len(known) > 0 {
		err = f.hasAll(ctx, conn, is, known)
	}
	if err == nil {
		err = f.use(is)
	}
	if err != nil {
		f.logRefusal(is, err)
		return err
	}
	conn.CustomData()[timelineKey] = is.timeline
	return nil
}

// checkTimeline checks a server's timeline, and returns the ledgers that it must have unless they
// were checked since it started.
func (f *fence) checkTimeline(is identity) (known map[string]study.Known, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.database != "" && is.database != f.database {
		return nil, f.behind(is, "it has another database than the one that this program began with")
	}
	high := f.all[is.database]
	if high == nil || is == f.admitted {
		return nil, nil
	}
	if is.timeline < high.Timeline {
		return nil, f.behind(is, fmt.Sprintf("it is on timeline %d, and timeline %d was seen: it was the primary before another server was made that", is.timeline, high.Timeline))
	}
	return maps.Clone(high.Studies), nil
}

// hasAll checks that each ledger has the event that it ended with. If the study's row, which is
// written together with the event, still names it, somebody has tampered with the event: the ledger
// is damaged, which verifying reports, but no other server has more.
func (f *fence) hasAll(ctx context.Context, conn *pgconn.PgConn, is identity, known map[string]study.Known) error {
	ends, err := json.Marshal(known)
	if err != nil {
		return err
	}
	missing := conn.ExecParams(ctx, `
		SELECT ends.id, seen ->> 'Version', coalesce(studies.version, 0)
		FROM json_each($1) AS ends (id, seen) LEFT JOIN events ON study_id = ends.id AND seq = (seen ->> 'Version')::bigint LEFT JOIN studies ON studies.id = ends.id
		WHERE events.hash IS DISTINCT FROM seen ->> 'Hash' AND studies.hash IS DISTINCT FROM seen ->> 'Hash' ORDER BY id LIMIT 1`, [][]byte{ends}, nil, nil, nil).Read()
	switch {
	case pgError(missing.Err).Code == undefinedTable:
		return f.behind(is, "it has no studies, and there were "+strconv.Itoa(len(known)))
	case missing.Err != nil:
		return missing.Err
	case len(missing.Rows) > 0:
		row := missing.Rows[0]
		return f.behind(is, fmt.Sprintf("study %s was seen at version %s, and there it is at version %s without that event", row[0], row[1], row[2]))
	}
	return nil
}

// use records an admitted server. One on a new timeline has replaced the one before.
func (f *fence) use(is identity) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	first := f.database == ""
	f.database = is.database
	high := f.seenHere()
	before := high.Timeline
	if is.timeline < before {
		return f.behind(is, "another server was made the primary meanwhile")
	}
	f.admitted, high.Timeline = is, is.timeline
	delete(f.refused, is.address)
	if is.timeline == before {
		return nil
	}
	f.changed.Store(true)
	if !first {
		slog.Warn("another server is the primary now", "server", is.address, "timeline", is.timeline)
		f.promotion()
		replace(f.promoted, struct{}{})
	}
	return nil
}

// behind returns the error for a refused server, with advice.
func (f *fence) behind(is identity, why string) error {
	undo := "start this program again"
	if f.file != "" {
		undo = "stop this program, remove " + f.file + " and start it again"
	}
	return &study.Behind{
		Sentence: fmt.Sprintf("The database server is refused: %s. What was stored would be missing there.", why),
		Advice:   fmt.Sprintf("It is %s. Make a server reachable that has what was stored, and this one its standby; only if that is lost for good, %s.", is.address, undo),
	}
}

func (f *fence) logRefusal(is identity, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var behind *study.Behind
	if errors.As(err, &behind) && f.refused[is.address] != err.Error() {
		f.refused[is.address] = err.Error()
		slog.Error("a database server is refused", "server", is.address, "timeline", is.timeline, "error", err)
	}
}

// current reports whether a connection leads to the server in use.
func (f *fence) current(conn *pgx.Conn) bool {
	return conn.PgConn().CustomData()[timelineKey] == f.timeline()
}

// findPrimaryEvery is how often the servers are asked for their identity if the URL names several.
const findPrimaryEvery = 5 * time.Second

// host is one of the servers that a URL names.
type host struct {
	name string
	port uint16
}

// attempts returns the connection attempts of config in order. A server is tried with TLS and
// without if the URL leaves that open.
func attempts(config *pgconn.Config) []*pgconn.FallbackConfig {
	return append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
}

// attempts returns the attempts that lead to the host, and the others.
func (h host) attempts(config *pgconn.Config) (mine, others []*pgconn.FallbackConfig) {
	for _, way := range attempts(config) {
		if h == (host{way.Host, way.Port}) {
			mine = append(mine, way)
		} else {
			others = append(others, way)
		}
	}
	return mine, others
}

func setAttempts(config *pgconn.Config, ways []*pgconn.FallbackConfig) {
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = ways[0].Host, ways[0].Port, ways[0].TLSConfig, ways[1:]
}

// hosts returns the servers that config names, in order; the attempts at one follow each other.
func hosts(config *pgconn.Config) []host {
	return slices.Compact(lists.Map(attempts(config), func(way *pgconn.FallbackConfig) host { return host{way.Host, way.Port} }))
}

// preferCurrent makes config try the server in use before the others.
func (f *fence) preferCurrent(config *pgconn.Config) {
	f.mutex.Lock()
	used := f.host
	f.mutex.Unlock()
	mine, others := used.attempts(config)
	setAttempts(config, append(mine, others...))
}

// connConfig returns the configuration of a single connection to the server in use among those that
// url names.
func (f *fence) connConfig(ctx context.Context, url string) (*pgx.ConnConfig, error) {
	pool, err := pgxpool.ParseConfig(url) // it removes the settings of pools, which PostgreSQL does not know
	if err != nil {
		return nil, fmt.Errorf("HEADROOM_DATABASE_URL: %w", err)
	}
	config := pool.ConnConfig
	prepareConfig(&config.Config)
	f.findPrimary(ctx, config)
	f.preferCurrent(&config.Config)
	config.ValidateConnect = f.admit
	return config, nil
}

// errNoCancel is why PostgreSQL is not asked to cancel a statement.
var errNoCancel = errors.New("statements are not cancelled")

// prepare makes config, with which the pools open a connection, try the server in use first, and
// keeps pgx from cancelling statements that are given up: PostgreSQL would end a commit's wait for
// the standby and show what may still be lost. Such a statement ends by PostgreSQL's own time
// limits, and its connection is closed.
func (f *fence) prepare(_ context.Context, config *pgx.ConnConfig) error {
	f.preferCurrent(&config.Config)
	dial, admit := config.DialFunc, config.ValidateConnect
	var connected atomic.Bool
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		err := admit(ctx, conn)
		connected.Store(err == nil)
		return err
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
	return nil
}

// answer is the identity of a host, with the connection on which it answered.
type answer struct {
	host
	identity
	conn *pgx.Conn
}

// findPrimary asks all servers for their identities, if config names several. Of two that accept
// writes it chooses the one on the higher timeline, whichever the URL names first; the other is
// refused with a log entry.
func (f *fence) findPrimary(ctx context.Context, config *pgx.ConnConfig) {
	named := hosts(&config.Config)
	if len(named) == 1 {
		return
	}
	answers := make([]*answer, len(named))
	var asking sync.WaitGroup
	for i, one := range named {
		asking.Go(func() { answers[i] = askHost(ctx, config, one) })
	}
	asking.Wait()
	answers = slices.DeleteFunc(answers, func(a *answer) bool { return a == nil })
	slices.SortStableFunc(answers, func(a, b *answer) int {
		return cmp.Or(cmp.Compare(f.lastSeen(b.database), f.lastSeen(a.database)), cmp.Compare(b.timeline, a.timeline))
	})
	chosen := false
	for _, a := range answers {
		admitting, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
		err := f.admitAs(admitting, a.conn.PgConn(), a.identity)
		cancel()
		if err == nil && !chosen {
			f.mutex.Lock()
			f.host, chosen = a.host, true
			f.mutex.Unlock()
		}
		closeConn(a.conn)
	}
}

// askHost asks one of the servers of config for its identity, nil if it does not answer.
func askHost(ctx context.Context, config *pgx.ConnConfig, one host) *answer {
	alone := config.Copy()
	alone.Tracer, alone.ValidateConnect = nil, nil
	mine, _ := one.attempts(&alone.Config)
	setAttempts(&alone.Config, mine)
	asking, cancel := context.WithTimeout(ctx, alone.ConnectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(asking, alone)
	if err != nil {
		return nil // connecting reports the error
	}
	is, err := identityOf(asking, conn.PgConn())
	if err != nil {
		closeConn(conn)
		return nil
	}
	return &answer{one, is, conn}
}

// lastSeen returns the timeline on which a database was seen, 0 if it never was.
func (f *fence) lastSeen(database string) int64 {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if high := f.all[database]; high != nil {
		return high.Timeline
	}
	return 0
}

// closeConn closes a connection that may be dead.
func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}
