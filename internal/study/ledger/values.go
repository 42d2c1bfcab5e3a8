package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
)

// Sampled values are large, and the trials of one request share them. A ledger holds them once: the
// event that brings them first has the numbers, later ones their hash. An event's own hash covers
// what it says, and that covers the numbers.

// valuesByHash are the sampled values that a ledger's events brought, by hashValues.
type valuesByHash map[string][]float64

// hashValues returns hex SHA-256 of the numbers as IEEE 754 doubles, 8 bytes each, the lowest byte
// first; −0 counts as 0.
func hashValues(values []float64) string {
	text := make([]byte, 0, 8*len(values))
	for _, x := range values {
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(x+0))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Resolver puts the values back into choices that name them by their hash, going through a ledger's
// choices in order. The zero value begins before the first.
type Resolver struct {
	values valuesByHash
	shared bool // with a snapshot, which nobody may write to
}

// Resolver goes on after the snapshot.
func (snap *Snapshot) Resolver() Resolver { return Resolver{snap.values, true} }

// Resolve returns the choice with all its values, and remembers those that it brings.
func (r *Resolver) Resolve(data ChosenData) (ChosenData, error) {
	if len(data.ConstraintValues) == 0 && len(data.ValueHashes) == 0 {
		return data, nil
	}
	whole := make(map[string][]float64, len(data.ConstraintValues)+len(data.ValueHashes))
	for metric, values := range data.ConstraintValues {
		whole[metric] = r.keep(hashValues(values), values)
	}
	for metric, hash := range data.ValueHashes {
		values, known := r.values[hash]
		if _, twice := whole[metric]; twice || !known {
			return data, fmt.Errorf("the values of %s, of hash %s, stand in no earlier event", metric, hash)
		}
		whole[metric] = values
	}
	data.ConstraintValues, data.ValueHashes = whole, nil
	return data, nil
}

// keep remembers values, and returns those of the same content that were there before, so that they
// are held once.
func (r *Resolver) keep(hash string, values []float64) []float64 {
	if before, known := r.values[hash]; known {
		return before
	}
	if r.shared || r.values == nil {
		r.values, r.shared = maps.Clone(r.values), false
		if r.values == nil {
			r.values = valuesByHash{}
		}
	}
	r.values[hash] = values
	return values
}

// shortener is the inverse: it names values by their hash where an earlier event of the ledger has
// them.
type shortener struct {
	kept   Resolver
	hashes map[*float64]string // of values that the choices at hand share
}

func (s *shortener) shorten(data ChosenData) ChosenData {
	if len(data.ConstraintValues) == 0 {
		return data
	}
	inline, hashes := map[string][]float64{}, map[string]string{}
	maps.Copy(hashes, data.ValueHashes)
	for metric, values := range data.ConstraintValues {
		if len(values) == 0 {
			inline[metric] = values
			continue
		}
		hash, met := s.hashes[&values[0]]
		if !met {
			hash = hashValues(values)
			s.hashes[&values[0]] = hash
		}
		if _, known := s.kept.values[hash]; known {
			hashes[metric] = hash
			continue
		}
		inline[metric] = s.kept.keep(hash, values)
	}
	data.ConstraintValues, data.ValueHashes = inline, hashes
	return data
}
