package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"headroom/internal/db"
	"headroom/internal/db/pglocal"
	"headroom/internal/study"
)

// owner says whose private PostgreSQL a command may use: another copy's stops with that copy.
type owner int

const (
	anyCopys owner = iota
	itsOwn
)

// withDatabase calls do with the URL of the database: the one that was set, the private one of
// another copy of this program if whose allows it, or a private one of its own, which is stopped
// afterwards.
func withDatabase(ctx context.Context, c config, whose owner, do func(url string) error) error {
	if c.databaseURL != "" {
		return do(c.databaseURL)
	}
	folder, err := c.folder()
	if err != nil {
		return err
	}
	if whose == anyCopys {
		if url, err := pglocal.Attach(ctx, folder); err == nil {
			return do(url)
		} else if !errors.Is(err, pglocal.ErrNotRunning) {
			return err
		}
	} else if c.dataDir == "" && folder == fallbackDataDir {
		slog.Info("PostgreSQL does not run as root, and its user cannot enter ./data here: everything is kept elsewhere", "folder", folder)
	}
	server, err := pglocal.Start(ctx, folder)
	if err != nil {
		return err
	}
	slog.Info("started the private PostgreSQL", "folder", folder)
	defer func() {
		server.Stop()
		slog.Info("stopped the private PostgreSQL")
	}()
	return do(server.URL)
}

// withStore calls do with an open database, for what is done beside a server.
func withStore(ctx context.Context, c config, do func(store *db.DB) error) error {
	return withDatabase(ctx, c, anyCopys, func(url string) error {
		var store *db.DB
		if err := awaitDatabase(ctx, c, func() (err error) { store, err = openStore(ctx, c, url, db.Beside); return err }); err != nil {
			return err
		}
		defer store.Close()
		return do(store)
	})
}

// databaseRetryInterval is the time between tries of a starting server to reach its database.
const databaseRetryInterval = 500 * time.Millisecond

// awaitDatabase calls begin, which a program starts with, again while the database cannot be
// reached or does not answer, as when both are started at the same time.
func awaitDatabase(ctx context.Context, c config, begin func() error) error {
	patience, cancel := context.WithTimeout(ctx, c.databaseWait)
	defer cancel()
	for first := true; ; first = false {
		err := begin()
		if err == nil || !errors.Is(err, study.ErrUnavailable) || c.databaseWait <= 0 {
			return err
		}
		if first {
			slog.Warn("the database cannot be reached yet; asking again", "for", c.databaseWait.String(), "error", err)
		}
		select {
		case <-time.After(databaseRetryInterval):
		case <-patience.Done():
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// seenFile is the file of the data folder that has what was seen of the database.
const seenFile = "database-seen.json"

func openStore(ctx context.Context, c config, url string, open func(ctx context.Context, url, file string) (*db.DB, error)) (*db.DB, error) {
	folder, err := c.folder()
	if err != nil {
		return nil, err
	}
	store, err := open(ctx, url, filepath.Join(folder, seenFile))
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("nothing answers there: start the database, or say in HEADROOM_DATABASE_URL where it runs: %w", err)
	}
	return store, err
}
