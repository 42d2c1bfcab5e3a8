// Package files writes files that are whole or not there.
package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// CreateWhole makes a file that only this user can read, whole or not at all. One that was there is
// replaced.
func CreateWhole(path string, write func(draft io.Writer) error) error {
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // once it is renamed there is nothing to remove
	if err := write(draft); err != nil {
		return errors.Join(err, draft.Close())
	}
	if err := errors.Join(draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), path)
}
