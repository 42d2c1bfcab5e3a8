package db

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/migrations"
)

// A backup is a gzip file of several members, each with gzip's own length and checksum: first a
// description as JSON, then the rows of each table as PostgreSQL's COPY writes them. It contains
// everything; of credentials, as in the database, only hashes. Any PostgreSQL can load it, and so
// can any later version of this program.
const (
	backupFormat  = "headroom-backup"
	backupVersion = 1
)

// backupTables is in an order in which rows refer only to earlier ones.
var backupTables = []string{"studies", "events", "idempotency_keys", "people", "credentials", "pins"}

type backupHead struct {
	Format  string        `json:"format"`
	Version int           `json:"version"`
	Schema  uint          `json:"schema"`
	Made    time.Time     `json:"made"`
	Tables  []backupTable `json:"tables"` // one member each, in this order
}

type backupTable struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

func (t backupTable) copy(direction string) string {
	columns := lists.Map(t.Columns, func(name string) string { return pgx.Identifier{name}.Sanitize() })
	return fmt.Sprintf("COPY %s (%s) %s", pgx.Identifier{t.Name}.Sanitize(), strings.Join(columns, ", "), direction)
}

// Backup writes everything as of one instant to w, and returns which ledgers are damaged, for which
// Restore would refuse it.
func (d *DB) Backup(ctx context.Context, w io.Writer) (damaged []string, err error) {
	ctx = d.listener.breaker.bound(ctx) // the tracer does not see copying
	defer release(ctx)
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, d.pool, snapshot, func(tx pgx.Tx) error {
		// Copying takes as long as the table and the destination file need.
		if _, err := tx.Exec(ctx, `SELECT set_config(wait, '0', true) FROM unnest(ARRAY['statement_timeout', 'idle_in_transaction_session_timeout']) wait`); err != nil {
			return err
		}
		head, err := d.backupHead(ctx, tx)
		if err != nil {
			return err
		}
		if err := writeMember(w, func(member io.Writer) error { return json.NewEncoder(member).Encode(head) }); err != nil {
			return err
		}
		for _, table := range head.Tables {
			err := writeMember(w, func(member io.Writer) error {
				_, err := tx.Conn().PgConn().CopyTo(ctx, member, table.copy("TO STDOUT"))
				return err
			})
			if err != nil {
				return fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		damaged, err = checkLedgers(ctx, tx)
		return err
	})
	return damaged, unavailable(ctx, err)
}

func (d *DB) backupHead(ctx context.Context, tx pgx.Tx) (head backupHead, err error) {
	head = backupHead{Format: backupFormat, Version: backupVersion, Made: d.now().Truncate(time.Second)}
	if err := tx.QueryRow(ctx, `SELECT version FROM schema_migrations`).Scan(&head.Schema); err != nil {
		return head, err
	}
	head.Tables, err = collect(ctx, tx, pgx.RowToStructByPos[backupTable], `
		SELECT name, ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = name::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum)
		FROM unnest($1::text[]) WITH ORDINALITY AS tables (name, place) ORDER BY place`, backupTables)
	return head, err
}

func writeMember(w io.Writer, write func(member io.Writer) error) error {
	member := gzip.NewWriter(w)
	if err := write(member); err != nil {
		return err
	}
	return member.Close()
}

// Restore loads a backup into the empty database at url and migrates it to this program's schema.
// It checks every ledger and stores all or nothing.
func Restore(ctx context.Context, url string, r io.Reader) error {
	err := restore(ctx, url, r)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // and not the error of the connection that it closed
	}
	return err
}

func restore(ctx context.Context, url string, r io.Reader) error {
	in := &backupReader{file: bufio.NewReader(r)}
	head, err := in.head()
	if err != nil {
		return err
	}
	config, err := newFence("").connConfig(ctx, url)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("the database cannot be used: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := requireEmpty(ctx, conn, backupTables); err != nil {
		return err
	}
	if err := MigrateTo(ctx, url, head.Schema); err != nil {
		return err
	}
	if err := in.restoreTables(ctx, conn, head.Tables); err != nil {
		return err
	}
	return Migrate(ctx, url)
}

func requireEmpty(ctx context.Context, q querier, tables []string) error {
	for _, table := range tables {
		var filled bool
		err := q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+pgx.Identifier{table}.Sanitize()+`)`).Scan(&filled)
		switch {
		case pgError(err).Code == undefinedTable:
		case err != nil:
			return unavailable(ctx, err)
		case filled:
			return fmt.Errorf("the database is not empty (it has %s): restore into a new database or data folder", table)
		}
	}
	return nil
}

// checkLedgers checks every study's ledger from the first event to the last, and returns which are
// damaged.
func checkLedgers(ctx context.Context, tx pgx.Tx) (damaged []string, err error) {
	rows, err := collect(ctx, tx, pgx.RowToStructByPos[studyRow], `SELECT id, version, hash FROM studies ORDER BY id`)
	for _, row := range rows {
		var events []ledger.Event
		batch := &pgx.Batch{}
		queueEvents(batch, row.ID, 0, 0, &events)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return nil, err
		}
		if why := cmp.Or(ledger.CheckChain(events), row.Fits(endWith(study.Known{}, events))); why != nil {
			damaged = append(damaged, fmt.Sprintf("study %s: %s", row.ID, why))
		}
	}
	return damaged, err
}

func damagedError(damaged []string, err error) error {
	if err == nil && len(damaged) > 0 {
		err = errors.New(strings.Join(damaged, "; "))
	}
	return err
}

// studyRow is a study's id with the end of its ledger.
type studyRow struct {
	ID string
	study.Known
}

// backupReader reads one member after another, and keeps its own error, which is clearer than
// PostgreSQL's.
type backupReader struct {
	file   *bufio.Reader // buffered, so that gzip reads no byte beyond the member
	member gzip.Reader
	failed error
}

func (b *backupReader) next() error {
	err := b.member.Reset(b.file)
	b.member.Multistream(false)
	return err
}

func (b *backupReader) Read(into []byte) (int, error) {
	n, err := b.member.Read(into)
	if err != nil && err != io.EOF {
		b.failed = brokenBackup(err)
	}
	return n, err
}

func brokenBackup(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the backup is cut short")
	}
	return fmt.Errorf("the backup is damaged: %w", err)
}

// largestHead limits the first member of a file that may be no backup.
const largestHead = 1 << 20

// head reads the first member and refuses a backup that this program cannot restore.
func (b *backupReader) head() (head backupHead, err error) {
	var text []byte
	if err = b.next(); err == nil {
		text, err = io.ReadAll(io.LimitReader(b, largestHead))
	}
	if err == nil {
		err = json.Unmarshal(text, &head)
	}
	if err != nil || head.Format != backupFormat {
		return head, errors.New("this is not a backup of headroom, or its beginning is damaged")
	}
	if head.Version != backupVersion || head.Schema > migrations.Latest || head.Schema == 0 {
		return head, fmt.Errorf("the backup has format %d and schema %d, this program knows %d and %d: use the newer program",
			head.Version, head.Schema, backupVersion, migrations.Latest)
	}
	return head, nil
}

// invalidRow matches PostgreSQL's codes for unreadable data and for rows that violate constraints.
var invalidRow = regexp.MustCompile(`^2[23]`)

// restoreTables stores the rows of all tables in one transaction, which fails unless the file is
// complete and its ledgers are intact. A server that is started meanwhile waits for its end.
func (b *backupReader) restoreTables(ctx context.Context, conn *pgx.Conn, tables []backupTable) error {
	return unavailable(ctx, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := lockEmpty(ctx, tx, tables); err != nil {
			return err
		}
		for _, table := range tables {
			if err := b.restore(ctx, tx, table); err != nil {
				return fmt.Errorf("restoring %s: %w", table.Name, err)
			}
		}
		if err := b.next(); err != io.EOF {
			return errors.New("the backup is damaged: more follows its last table")
		}
		return damagedError(checkLedgers(ctx, tx))
	}))
}

// lockEmpty keeps everybody else from writing to the tables, which must be empty.
func lockEmpty(ctx context.Context, tx pgx.Tx, tables []backupTable) error {
	names := lists.Map(tables, func(one backupTable) string { return one.Name })
	quoted := lists.Map(names, func(name string) string { return pgx.Identifier{name}.Sanitize() })
	if _, err := tx.Exec(ctx, `LOCK TABLE `+strings.Join(quoted, ", ")+` IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return err
	}
	return requireEmpty(ctx, tx, names)
}

func (b *backupReader) restore(ctx context.Context, tx pgx.Tx, into backupTable) error {
	if err := b.next(); err != nil {
		return brokenBackup(err)
	}
	_, err := tx.Conn().PgConn().CopyFrom(ctx, b, into.copy("FROM STDIN"))
	if invalidRow.MatchString(pgError(err).Code) { // found before the checksum was checked
		err = brokenBackup(err)
	}
	return cmp.Or(b.failed, err)
}
