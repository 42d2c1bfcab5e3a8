package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headroom/internal/files"
	"headroom/internal/study"
)

// saveEvery is how often the versions seen are written to their file. A new timeline is written at
// once.
const saveEvery = 5 * time.Second

// seen is what this program knows of a database that must never go back: the timeline that its
// servers were on, which PostgreSQL counts up each time that a standby becomes the primary, and the
// end of each study's ledger as it was last read or written. A server that goes back behind that is
// refused. What stands here is also known to outlive a failover, as far as the database promises
// that (see vouch).
type seen struct {
	file     string // where a restart finds it again; "" for nowhere
	saving   sync.Mutex
	promoted chan struct{} // has something when a new timeline is to be saved
	risen    func()        // called when the servers known so far are not to be used any more

	mutex    sync.Mutex
	all      map[string]*past // by database
	database string           // the one that this program uses; "" until a server was admitted
	admitted identity         // the server that was last found to go back behind nothing
	host     host             // the one to connect to first
	refused  map[string]string
	changed  bool
}

// past is what was seen of one database.
type past struct {
	Timeline int64                  `json:"timeline"`
	Studies  map[string]study.Known `json:"studies"`
}

// identity is what a server says of itself.
type identity struct {
	address  string
	database string // the cluster's system identifier, which copies of it share, and the number of the database in it
	standby  bool
	timeline int64
	started  string
}

// remember returns what was seen by a program that kept it in file, if any.
func remember(file string) (*seen, error) {
	s := &seen{file: file, promoted: make(chan struct{}, 1), risen: func() {}, all: map[string]*past{}, refused: map[string]string{}}
	kept, err := s.read()
	if err != nil {
		return nil, err
	}
	_, err = s.merged(kept)
	return s, err
}

// read returns what stands in the file.
func (s *seen) read() (kept map[string]*past, err error) {
	if s.file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, which keeps what was seen of the database, cannot be read: %w", s.file, err)
	}
	return kept, nil
}

// of is what was seen of a database, here of the one in use. Their callers hold the mutex.
func (s *seen) of(database string) *past {
	if s.all[database] == nil {
		s.all[database] = &past{Studies: map[string]study.Known{}}
	}
	return s.all[database]
}

func (s *seen) here() *past { return s.of(s.database) }

// timeline is the highest one seen.
func (s *seen) timeline() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.here().Timeline
}

// knows says whether everything in read is known to outlive a failover.
func (s *seen) knows(read map[string]study.Known) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known := s.here().Studies
	for id, end := range read {
		if known[id].Version < end.Version {
			return false
		}
	}
	return true
}

// note takes note of ledgers that outlive a failover.
func (s *seen) note(ends map[string]study.Known) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.changed = raise(s.here().Studies, ends) || s.changed
}

// raise brings known up to ends.
func raise(known, ends map[string]study.Known) (changed bool) {
	for id, end := range ends {
		if known[id].Version < end.Version {
			known[id], changed = end, true
		}
	}
	return changed
}

// save writes what was seen, with what another program that keeps its own in the same file has
// seen.
func (s *seen) save() error {
	if s.file == "" {
		return nil
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	kept, err := s.read()
	if err != nil {
		return err
	}
	text, err := s.merged(kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	return files.CreateWhole(s.file, func(draft io.Writer) error { _, err := draft.Write(text); return err })
}

// merged takes note of what another program has seen, and returns everything as it is kept.
func (s *seen) merged(kept map[string]*past) ([]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for database, other := range kept {
		mine := s.of(database)
		mine.Timeline = max(mine.Timeline, other.Timeline)
		raise(mine.Studies, other.Studies)
	}
	s.changed = false
	return json.MarshalIndent(s.all, "", " ")
}

// keep saves what has changed, now and then and at the end, and what cannot be saved again later.
func (s *seen) keep(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(saveEvery):
		case <-s.promoted:
		}
		s.mutex.Lock()
		changed := s.changed
		s.mutex.Unlock()
		if !changed {
			continue
		}
		if err := s.save(); err != nil {
			slog.Error("what was seen of the database cannot be kept", "error", err)
			s.mutex.Lock()
			s.changed = true
			s.mutex.Unlock()
		}
	}
}

// identify asks a server who it is. A standby has no timeline of its own yet.
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

// timelineKey is where a connection carries the timeline of its server.
const timelineKey = "headroom timeline"

// admit refuses a connection to a server that takes no writes or goes back behind what was seen. It
// is asked of every new connection.
func (s *seen) admit(ctx context.Context, conn *pgconn.PgConn) error {
	is, err := identityOf(ctx, conn)
	if err != nil {
		return err
	}
	return s.admitAs(ctx, conn, is)
}

func (s *seen) admitAs(ctx context.Context, conn *pgconn.PgConn, is identity) error {
	if is.standby {
		return fmt.Errorf("%s is a standby, which takes no writes: %w", is.address, study.ErrUnavailable)
	}
	known, err := s.precedes(is)
	if err == nil && len(known) > 0 {
		err = s.lacksNothing(ctx, conn, is, known)
	}
	if err == nil {
		err = s.use(is)
	}
	if err != nil {
		s.complain(is, err)
		return err
	}
	conn.CustomData()[timelineKey] = is.timeline
	return nil
}

// precedes checks a server's timeline, and returns what its ledgers must have unless they were
// looked at since it started.
func (s *seen) precedes(is identity) (known map[string]study.Known, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.database != "" && is.database != s.database {
		return nil, s.behind(is, "it has another database than the one that this program began with")
	}
	past := s.all[is.database]
	if past == nil || is == s.admitted {
		return nil, nil
	}
	if is.timeline < past.Timeline {
		return nil, s.behind(is, fmt.Sprintf("it is on timeline %d, and timeline %d was seen: it was the primary before another server was made that", is.timeline, past.Timeline))
	}
	return maps.Clone(past.Studies), nil
}

// lacksNothing checks that each ledger has the event that it ended with.
func (s *seen) lacksNothing(ctx context.Context, conn *pgconn.PgConn, is identity, known map[string]study.Known) error {
	type end struct {
		ID string `json:"id"`
		study.Known
	}
	ends := make([]end, 0, len(known))
	for id, one := range known {
		ends = append(ends, end{id, one})
	}
	text, err := json.Marshal(ends)
	if err != nil {
		return err
	}
	missing := conn.ExecParams(ctx, `
		SELECT seen.id, seen."Version", coalesce((SELECT version FROM studies WHERE id = seen.id), 0)
		FROM json_to_recordset($1) AS seen (id text, "Version" bigint, "Hash" text) LEFT JOIN events e ON e.study_id = seen.id AND e.seq = seen."Version"
		WHERE e.hash IS DISTINCT FROM seen."Hash" ORDER BY seen.id LIMIT 1`, [][]byte{text}, nil, nil, nil).Read()
	switch {
	case answered(missing.Err).Code == "42P01":
		return s.behind(is, "it has no studies, and there were "+strconv.Itoa(len(known)))
	case missing.Err != nil:
		return missing.Err
	case len(missing.Rows) > 0:
		row := missing.Rows[0]
		return s.behind(is, fmt.Sprintf("study %s was seen at version %s, and stands at version %s there without that event", row[0], row[1], row[2]))
	}
	return nil
}

// use takes note of a server that goes back behind nothing. One on a new timeline has taken the
// place of the one before.
func (s *seen) use(is identity) error {
	s.mutex.Lock()
	first := s.database == ""
	s.database = is.database
	past := s.here()
	before := past.Timeline
	if is.timeline >= before {
		s.admitted, past.Timeline, s.changed = is, is.timeline, s.changed || is.timeline > before
		delete(s.refused, is.address)
	}
	s.mutex.Unlock()
	switch {
	case is.timeline < before:
		return s.behind(is, "another server was made the primary meanwhile")
	case is.timeline > before && !first:
		slog.Warn("another server is the primary now", "server", is.address, "timeline", is.timeline)
		s.risen()
		select {
		case s.promoted <- struct{}{}:
		default: // it is known already
		}
	}
	return nil
}

// behind says why a server is refused, and what a person does about it.
func (s *seen) behind(is identity, why string) error {
	undo := "start this program again"
	if s.file != "" {
		undo = "stop this program, remove " + s.file + " and start it again"
	}
	return &study.Behind{
		Sentence: fmt.Sprintf("The database server is refused: %s. What was stored would be missing there.", why),
		Advice:   fmt.Sprintf("It is %s. Let a server be reached that has what was stored, and make this one its standby; only if that is lost for good, %s.", is.address, undo),
	}
}

// complain logs why a server is refused, once.
func (s *seen) complain(is identity, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var behind *study.Behind
	if errors.As(err, &behind) && s.refused[is.address] != err.Error() {
		s.refused[is.address] = err.Error()
		slog.Error("a database server is refused", "server", is.address, "timeline", is.timeline, "error", err)
	}
}

// stands says whether a connection leads to the server that is in use.
func (s *seen) stands(conn *pgx.Conn) bool {
	return conn.PgConn().CustomData()[timelineKey] == s.timeline()
}
