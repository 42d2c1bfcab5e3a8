package db

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"headroom/migrations"
)

// rowsAtOnce bounds how many rows one statement restores.
const rowsAtOnce = 500

// longestBackupLine bounds one row; the largest event holds a study of 10,000 candidates and 1000 ×
// 1000 covariances.
const longestBackupLine = 256 << 20

// Restore fills the empty database at url with a backup, and brings it to this program's schema.
// All of it or nothing is stored; every ledger is checked before.
func Restore(ctx context.Context, url string, r io.Reader) error {
	in, err := newBackupReader(r)
	if err != nil {
		return err
	}
	first, err := in.header()
	if err != nil {
		return err
	}
	if err := requireEmpty(ctx, url); err != nil {
		return err
	}
	if err := MigrateTo(ctx, url, first.Schema); err != nil {
		return err
	}
	if err := restoreRows(ctx, url, in); err != nil {
		return err
	}
	return Migrate(ctx, url)
}

// restoreRows stores every row in one transaction, which ends well only if the file is whole and
// its ledgers are.
func restoreRows(ctx context.Context, url string, in *backupReader) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return unavailable(ctx, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := in.restoreTables(ctx, tx); err != nil {
			return err
		}
		inside := &DB{}
		inside.Studies = &Studies{db: inside}
		_, err := inside.CheckLedgers(context.WithValue(ctx, transactionKey{}, tx))
		return err
	}))
}

func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := newFence("").connConfig(ctx, url)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	return conn, unavailable(ctx, err)
}

// requireEmpty refuses a database that holds anything of ours.
func requireEmpty(ctx context.Context, url string) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, table := range backupTables {
		columns, err := columnsOf(ctx, conn, table.name)
		if err != nil {
			return err
		}
		if len(columns) == 0 {
			continue // no such table
		}
		var filled bool
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+table.name+`)`).Scan(&filled); err != nil {
			return unavailable(ctx, err)
		}
		if filled {
			return fmt.Errorf("the database is not empty (it has %s): restore into a new database or data folder", table.name)
		}
	}
	return nil
}

// backupReader reads lines and sums them up.
type backupReader struct {
	lines *bufio.Scanner
	sum   hash.Hash
}

func newBackupReader(r io.Reader) (*backupReader, error) {
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("this is not a backup of headroom: %w", err)
	}
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(make([]byte, 1<<16), longestBackupLine)
	return &backupReader{lines: lines, sum: sha256.New()}, nil
}

var errCutShort = errors.New("the backup is cut short: its last line is missing")

// next returns the next line, valid until the one after it is read.
func (b *backupReader) next() ([]byte, error) {
	if b.lines.Scan() {
		return b.lines.Bytes(), nil
	}
	if err := b.lines.Err(); err != nil {
		return nil, fmt.Errorf("the backup cannot be read: %w", err)
	}
	return nil, errCutShort
}

func (b *backupReader) addToSum(line []byte) {
	b.sum.Write(line)
	b.sum.Write([]byte{'\n'})
}

// header reads the first line and refuses what this program cannot restore.
func (b *backupReader) header() (backupLine, error) {
	var first backupLine
	line, err := b.next()
	if err != nil {
		return first, err
	}
	b.addToSum(line)
	if err := json.Unmarshal(line, &first); err != nil || first.Format != backupFormat {
		return first, errors.New("this is not a backup of headroom")
	}
	latest, err := migrations.Latest()
	if err != nil {
		return first, err
	}
	if first.Version != backupVersion || first.Schema > latest || first.Schema == 0 {
		return first, fmt.Errorf("the backup has format %d and schema %d, this program knows %d and %d: use the newer program",
			first.Version, first.Schema, backupVersion, latest)
	}
	return first, nil
}

// restoreTables stores rows until the last line, and compares the sum.
func (b *backupReader) restoreTables(ctx context.Context, tx pgx.Tx) error {
	var into *tableRestorer
	for {
		line, err := b.next()
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte("[")) {
			b.addToSum(line)
			if err := into.add(ctx, line); err != nil {
				return err
			}
			continue
		}
		if err := into.flush(ctx); err != nil {
			return err
		}
		var head backupLine
		if err := json.Unmarshal(line, &head); err != nil {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
		if head.SHA256 != "" {
			return b.compareSum(head.SHA256)
		}
		b.addToSum(line)
		if into, err = newTableRestorer(ctx, tx, head); err != nil {
			return err
		}
	}
}

func (b *backupReader) compareSum(want string) error {
	if got := hex.EncodeToString(b.sum.Sum(nil)); got != want {
		return fmt.Errorf("the backup is damaged: its content has the checksum %s, not %s", got, want)
	}
	return nil
}

// tableRestorer stores the rows of one table, many at a time.
type tableRestorer struct {
	tx        pgx.Tx
	table     string
	statement string
	values    [][]*string // by column
}

func newTableRestorer(ctx context.Context, tx pgx.Tx, head backupLine) (*tableRestorer, error) {
	present, err := columnsOf(ctx, tx, head.Table)
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	for _, c := range present {
		kinds[c.name] = c.kind
	}
	var names, casts, arrays, aliases []string
	for i, name := range head.Columns {
		kind, known := kinds[name]
		if !known {
			return nil, fmt.Errorf("the backup is damaged: there is no column %q.%q", head.Table, name)
		}
		names = append(names, pgx.Identifier{name}.Sanitize())
		casts = append(casts, fmt.Sprintf("c%d::%s", i, kind))
		arrays = append(arrays, fmt.Sprintf("$%d::text[]", i+1))
		aliases = append(aliases, fmt.Sprintf("c%d", i))
	}
	return &tableRestorer{
		tx: tx, table: head.Table, values: make([][]*string, len(head.Columns)),
		statement: fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS row (%s)", pgx.Identifier{head.Table}.Sanitize(),
			strings.Join(names, ", "), strings.Join(casts, ", "), strings.Join(arrays, ", "), strings.Join(aliases, ", ")),
	}, nil
}

func (t *tableRestorer) add(ctx context.Context, line []byte) error {
	if t == nil {
		return errors.New("the backup is damaged: a row comes before its table")
	}
	var row []*string
	if err := json.Unmarshal(line, &row); err != nil || len(row) != len(t.values) {
		return fmt.Errorf("the backup is damaged: a row of %s has %d values for %d columns", t.table, len(row), len(t.values))
	}
	for i, value := range row {
		t.values[i] = append(t.values[i], value)
	}
	if len(t.values[0]) < rowsAtOnce {
		return nil
	}
	return t.flush(ctx)
}

// flush stores the rows added so far.
func (t *tableRestorer) flush(ctx context.Context) error {
	if t == nil || len(t.values) == 0 || len(t.values[0]) == 0 {
		return nil
	}
	arguments := make([]any, len(t.values))
	for i := range t.values {
		arguments[i] = t.values[i]
	}
	if _, err := t.tx.Exec(ctx, t.statement, arguments...); err != nil {
		return fmt.Errorf("restoring %s: %w", t.table, err)
	}
	for i := range t.values {
		t.values[i] = t.values[i][:0]
	}
	return nil
}
