package db

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/jackc/pgx/v5"

	"headroom/migrations"
)

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
		var filled bool
		err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+table.name+`)`).Scan(&filled)
		switch {
		case pgError(err).Code == undefinedTable:
		case err != nil:
			return unavailable(ctx, err)
		case filled:
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

// next returns the next line, valid until the one after it is read, and sums it up unless it is the
// last.
func (b *backupReader) next() ([]byte, error) {
	if b.lines.Scan() {
		if line := b.lines.Bytes(); !bytes.HasPrefix(line, []byte(`{"sha256":`)) {
			b.sum.Write(line)
			b.sum.Write([]byte{'\n'})
		}
		return b.lines.Bytes(), nil
	}
	if err := b.lines.Err(); err != nil {
		return nil, fmt.Errorf("the backup cannot be read: %w", err)
	}
	return nil, errCutShort
}

// header reads the first line and refuses what this program cannot restore.
func (b *backupReader) header() (backupLine, error) {
	var first backupLine
	line, err := b.next()
	if err != nil {
		return first, err
	}
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
	for {
		line, err := b.next()
		if err != nil {
			return err
		}
		var head backupLine
		if err := json.Unmarshal(line, &head); err != nil {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
		if head.SHA256 != "" {
			return b.compareSum(head.SHA256)
		}
		rows := &rowReader{backup: b}
		into := fmt.Sprintf(`COPY %s (%s) FROM STDIN`, pgx.Identifier{head.Table}.Sanitize(), identifiers(head.Columns))
		_, err = tx.Conn().PgConn().CopyFrom(ctx, rows, into)
		if err = cmp.Or(rows.failed, err); err != nil {
			return fmt.Errorf("restoring %s: %w", head.Table, err)
		}
	}
}

func (b *backupReader) compareSum(want string) error {
	if got := hex.EncodeToString(b.sum.Sum(nil)); got != want {
		return fmt.Errorf("the backup is damaged: its content has the checksum %s, not %s", got, want)
	}
	return nil
}

// rowReader reads the rows of one table.
type rowReader struct {
	backup *backupReader
	line   bytes.Buffer // what is left of it
	failed error        // why there is no next line, which PostgreSQL would say less well
}

func (r *rowReader) Read(into []byte) (int, error) {
	if r.line.Len() == 0 {
		line, err := r.backup.next()
		if err != nil {
			r.failed = err
			return 0, err
		}
		if string(line) == endOfRows {
			return 0, io.EOF
		}
		r.line.Write(line)
		r.line.WriteByte('\n')
	}
	return r.line.Read(into)
}
