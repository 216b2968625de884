// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Identity is what an agent must keep over restarts: who it is and whom it trusts. The zero value means that it has not
// joined. Keys, Certificate and CA are PEM.
type Identity struct {
	// Key is the private key of Certificate, PKCS#8.
	Key string `json:"key,omitempty"`
	// Certificate is the leaf that the hub signed. Empty: not joined.
	Certificate string `json:"certificate,omitempty"`
	// CA is the bundle of authorities that the hub handed out with Certificate.
	CA string `json:"ca,omitempty"`
	// TokenID is the ID of the token that was joined with.
	TokenID string `json:"tokenID,omitempty"`
	// PendingToken and PendingKey belong to a join that has not been answered. The key is kept, since the hub lets the
	// same key ask again with a token that it has burnt already.
	PendingToken string `json:"pendingToken,omitempty"`
	PendingKey   string `json:"pendingKey,omitempty"`
}

// Vault keeps an Identity. It is used from one goroutine.
type Vault interface {
	// Load returns the zero Identity when there is none.
	Load(ctx context.Context) (Identity, error)
	// Save replaces the Identity as a whole: after a crash in the middle, Load returns the old or the new one.
	Save(ctx context.Context, identity Identity) error
}

const (
	identityFile = "identity.json"
	fileMode     = 0o600
	dirMode      = 0o700
)

// Dir is a Vault in a directory, which it makes when it is not there. The file is for its owner's eyes only.
type Dir string

// Load implements Vault.
func (d Dir) Load(context.Context) (Identity, error) {
	var identity Identity
	text, err := os.ReadFile(filepath.Join(string(d), identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return identity, nil
	}
	if err != nil {
		return identity, fmt.Errorf("load identity: %w", err)
	}
	if err := json.Unmarshal(text, &identity); err != nil {
		return Identity{}, fmt.Errorf("load identity from %s: %w; remove the file and join again", filepath.Join(string(d), identityFile), err)
	}
	return identity, nil
}

// Save implements Vault: it writes a file beside the old one, syncs it, and renames it into place.
func (d Dir) Save(_ context.Context, identity Identity) error {
	if err := d.save(identity); err != nil {
		return fmt.Errorf("save identity: %w", err)
	}
	return nil
}

func (d Dir) save(identity Identity) (err error) {
	text, err := json.MarshalIndent(identity, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), dirMode); err != nil {
		return err
	}
	file, err := os.CreateTemp(string(d), ".identity-*") // Made with mode 0600.
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // What stays of a failed save is of no use.
		}
	}()
	if err := errors.Join(file.Chmod(fileMode), write(file, text), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), filepath.Join(string(d), identityFile)); err != nil {
		return err
	}
	return syncDir(string(d))
}

func write(file *os.File, text []byte) error {
	_, err := file.Write(text)
	return err
}

// syncDir makes the rename last over a loss of power.
func syncDir(path string) error {
	dir, err := os.Open(path) //nolint:gosec // The directory is the operator's choice.
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
