package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/files"
	"headroom/internal/study"
)

// link prints a sign-in link, for an admin who lost their session or a server that no terminal
// sees.
func link(ctx context.Context, c config, _ []string) error {
	return withStore(ctx, c, func(store *db.DB) error {
		first, err := store.Accounts.FirstAdmin(ctx)
		if err != nil {
			return err
		}
		return printLink(ctx, store, first, c.public(c.listen))
	})
}

// token makes an API token and prints it, this once.
func token(set *flag.FlagSet) action {
	name := set.String("name", "", "what the ledger calls it")
	role := set.String("role", string(account.Operator), "admin, operator or viewer")
	studyID := set.String("study", "", "the only study it may see")
	days := set.Int("days", 0, "how long it lasts; 0 = until revoked")
	return configured(func(ctx context.Context, c config, _ []string) error {
		want := account.NewToken{Name: *name, Role: account.Role(*role), StudyID: *studyID}
		if *days != 0 {
			want.ExpiresAt = new(time.Now().AddDate(0, 0, *days))
		}
		return withStore(ctx, c, func(store *db.DB) error {
			terminal := account.Identity{Kind: account.BySession, Name: "the server", Role: account.Admin}
			_, secret, err := store.Accounts.CreateToken(ctx, terminal, want)
			if err != nil {
				return err
			}
			return say(secret)
		})
	})
}

func migrate(set *flag.FlagSet) action {
	target := set.Uint("to", 0, "the schema to go to, up or down; 0 = this program's. A step down says in its file what it drops")
	return configured(func(ctx context.Context, c config, _ []string) error {
		return withDatabase(ctx, c, anybodys, func(url string) error {
			if *target == 0 {
				return db.Migrate(ctx, url)
			}
			return db.MigrateTo(ctx, url, *target)
		})
	})
}

// standardStream stands for standard output, or input, in place of a file's name: a container's
// file system is read-only.
const standardStream = "-"

// openFile opens a file to read, or standard input.
func openFile(name string) (io.ReadCloser, error) {
	if name == standardStream {
		return os.Stdin, nil
	}
	return os.Open(name)
}

// fromFile is what a file, or standard input, holds.
func fromFile[T any](name string, read func(io.Reader) (T, error)) (content T, err error) {
	file, err := openFile(name)
	if err != nil {
		return content, err
	}
	defer file.Close()
	if content, err = read(file); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return content, err
}

// backup writes everything to a file that must not exist yet, whole or not at all, or to standard
// output.
func backup(ctx context.Context, c config, args []string) error {
	path := args[0]
	if path == standardStream {
		return withStore(ctx, c, func(store *db.DB) error { return store.Backup(ctx, os.Stdout) })
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already: name a new file", path)
	}
	return withStore(ctx, c, func(store *db.DB) error {
		if err := files.CreateWhole(path, func(draft io.Writer) error { return store.Backup(ctx, draft) }); err != nil {
			return err
		}
		return say("Wrote " + path)
	})
}

func restore(ctx context.Context, c config, args []string) error {
	file, err := openFile(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	return withDatabase(ctx, c, anybodys, func(url string) error {
		if err := db.Restore(ctx, url, file); err != nil {
			return err
		}
		return say("Restored everything: every ledger is intact")
	})
}

// largestBundle bounds an exported study.
const largestBundle = 1 << 30

// verify checks an exported study without a server or a database.
func verify(ctx context.Context, args []string) error {
	text, err := fromFile(args[0], func(file io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(file, largestBundle+1)) })
	if err != nil {
		return err
	}
	if len(text) > largestBundle {
		return fmt.Errorf("%s is larger than %d MiB", args[0], largestBundle>>20)
	}
	found, err := study.VerifyBundle(ctx, text)
	if err != nil {
		return err
	}
	report, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	if err := say(string(report)); err != nil {
		return err
	}
	if !found.OK {
		return fmt.Errorf("%s does not hold: the ledger is intact: %t, numbers that differ: %d", args[0], found.LedgerIntact, len(found.Different))
	}
	return nil
}
