package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/files"
)

// adminTokenFile keeps the first admin's API token in the data folder.
const adminTokenFile = "admin-token"

// shortSecret is the number of characters below which a secret can be guessed.
const shortSecret = 20

// ensureAdmin registers the admin token, and makes the first admin if there is none.
func ensureAdmin(ctx context.Context, c config, store *db.DB) (account.Person, error) {
	secret, given, file := c.adminToken, c.adminToken != "", ""
	if !given {
		var err error
		if secret, file, err = readAdminToken(c); err != nil {
			return account.Person{}, fmt.Errorf("the admin token: %w", err)
		}
	} else if len(secret) < shortSecret {
		slog.Warn("HEADROOM_ADMIN_TOKEN is short enough to be guessed", "characters", len(secret), "better", shortSecret)
	}
	switch err := store.Accounts.AdmitServer(ctx, secret, given); {
	case errors.Is(err, account.ErrExpired) && given:
		slog.Warn("HEADROOM_ADMIN_TOKEN was revoked, or another one given after it: choose a new one")
	case errors.Is(err, account.ErrExpired):
		slog.Warn("the admin token was revoked: remove its file, and the next start makes a new one", "file", file)
	case err != nil:
		return account.Person{}, fmt.Errorf("the admin token: %w", err)
	}
	return store.Accounts.EnsureAdmin(ctx)
}

// readAdminToken returns the token in the file of the data folder, which it makes the first time.
func readAdminToken(c config) (secret, path string, err error) {
	folder, err := c.folder()
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", "", err
	}
	path = filepath.Join(folder, adminTokenFile)
	kept, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret = account.NewSecret()
		slog.Info("made an admin token", "file", path)
		return secret, path, files.CreateWhole(path, func(draft io.Writer) error {
			_, err := io.WriteString(draft, secret+"\n")
			return err
		})
	}
	if err != nil {
		return "", path, err
	}
	if secret = strings.TrimSpace(string(kept)); secret == "" {
		return "", path, fmt.Errorf("%s is empty: remove it, and a new one is made", path)
	}
	return secret, path, nil
}

// theServer is the identity of somebody who runs a command at the server's machine.
var theServer = account.Identity{Kind: account.BySession, Name: "the server", Role: account.Admin}

func printLink(ctx context.Context, store *db.DB, first account.Person, publicURL string) error {
	link, secret, err := store.Accounts.CreateSignInLink(ctx, theServer, first.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("\n  Sign in as %s (once, until %s):\n  %s/sign-in/%s\n\n", link.Name, link.ExpiresAt.Local().Format("15:04 MST"), publicURL, secret)
	return err
}

// onTerminal reports whether somebody sees what is written to a file, which nobody does in
// /dev/null.
func onTerminal(file *os.File) bool {
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	nowhere, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(info, nowhere)
}
