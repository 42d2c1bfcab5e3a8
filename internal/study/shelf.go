package study

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"time"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/study/ledger"
)

// What takes long to work out of a long study is put on a shelf behind the requests, and a server
// that starts reads it from there. Replay from nothing stays the truth: what is on the shelf goes by
// a hash of all that it is a function of, it is checked, and the shelf may be emptied at any time.

// Shelf keeps rows of what is worked out from studies. Package db implements it.
type Shelf interface {
	// Each calls use with all that is kept of a study; the numbers are overwritten afterwards.
	Each(ctx context.Context, id string, use func(KeptRows)) error
	// Keep makes what is kept of a study these rows, the first of them as far as there is room, in
	// place of all that was.
	Keep(ctx context.Context, id string, wanted iter.Seq2[RowsKey, func() KeptRows]) error
	// Forget removes all that is kept of a study.
	Forget(ctx context.Context, id string) error
}

// RowsKey is a hash of all that some rows are a function of.
type RowsKey = [sha256.Size]byte

// KeptRows are rows of a lower triangle.
type KeptRows struct {
	Key     RowsKey
	First   int               // of the rows
	Numbers []byte            // IEEE 754, little endian, row i having i+1
	Sum     [sha256.Size]byte // of Numbers
}

// Rows are put on the shelf once nobody has asked for the study for a while, in a job of so long at
// most; reading them may not take longer than working them out of a study of usual length.
const (
	shelvingPause = 3 * time.Second
	shelvingTime  = 5 * time.Minute
	readingTime   = 20 * time.Second
)

// shelved is the way from the models to their shelf.
type shelved struct {
	shelf  Shelf                    // nil for none
	wanted derived.Together[string] // studies with rows to put there
}

// kept is what the shelf has of a study that is long enough.
func (s *Models) kept(ctx context.Context, snap *ledger.Snapshot) *gp.Kept {
	if s.shelved.shelf == nil || len(snap.Trials) < optimizer.KeptFrom {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readingTime)
	defer cancel()
	pieces, damaged := map[gp.Key]gp.Piece{}, []gp.Key(nil)
	err := s.shelved.shelf.Each(ctx, snap.ID, func(rows KeptRows) {
		piece, whole := pieceOf(rows)
		if !whole {
			damaged = append(damaged, rows.Key)
			return
		}
		pieces[rows.Key] = piece
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the rows that were kept of a study cannot be read; they are worked out anew", "study", snap.ID, "error", err)
	}
	s.refuse(ctx, snap.ID, damaged)
	return optimizer.NewKept(pieces)
}

// refuse throws away what is kept of a study, where some of it is not what it stands for.
func (s *Models) refuse(ctx context.Context, id string, wrong []gp.Key) {
	if len(wrong) == 0 {
		return
	}
	s.log.Warn("rows that were kept of a study are not those that follow from its ledger; they are thrown away and worked out anew",
		"study", id, "pieces", len(wrong))
	if err := s.shelved.shelf.Forget(ctx, id); err != nil {
		s.log.Warn("rows that were kept of a study cannot be thrown away", "study", id, "error", err)
	}
}

// pieceOf reads rows, unless they are damaged.
func pieceOf(rows KeptRows) (piece gp.Piece, whole bool) {
	if rows.First < 0 || sha256.Sum256(rows.Numbers) != rows.Sum {
		return piece, false
	}
	count := 0
	for size := 0; size < len(rows.Numbers); count++ {
		size += 8 * (rows.First + count + 1)
	}
	piece = gp.Piece{From: rows.First, Rows: factor.Triangle(rows.First, count)}
	left := rows.Numbers
	for _, row := range piece.Rows {
		if len(left) < 8*len(row) {
			return piece, false
		}
		for i := range row {
			row[i] = math.Float64frombits(binary.LittleEndian.Uint64(left[8*i:]))
		}
		left = left[8*len(row):]
	}
	return piece, true
}

// rowsOf writes a piece.
func rowsOf(key gp.Key, piece gp.Piece) KeptRows {
	numbers := 0
	for _, row := range piece.Rows {
		numbers += len(row)
	}
	rows := KeptRows{Key: key, First: piece.From, Numbers: make([]byte, 0, 8*numbers)}
	for _, row := range piece.Rows {
		for _, v := range row {
			rows.Numbers = binary.LittleEndian.AppendUint64(rows.Numbers, math.Float64bits(v))
		}
	}
	rows.Sum = sha256.Sum256(rows.Numbers)
	return rows
}

// keepLater has what is worth keeping of a study's newest state put on the shelf after a while,
// behind the requests, one study after another and once for all that ask for it meanwhile.
func (s *Models) keepLater(snap *ledger.Snapshot) {
	if s.shelved.shelf == nil || len(snap.Trials) < optimizer.KeptFrom {
		return
	}
	s.shelved.wanted.Join("", snap.ID, func(ids []string) (left []string) {
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			// What fails is in the log, and worked out again.
			_ = s.Derived.Jobs.Do(context.Background(), "shelving", id, shelvingTime, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(shelvingPause):
					return s.keep(ctx, id)
				}
			})
		}
		return nil
	})
}

// keep puts what is worth keeping of a study's newest state on the shelf.
func (s *Models) keep(ctx context.Context, id string) error {
	_, newest, found := derived.Newest[replayed](s.Derived, id)
	if !found || newest.state == nil {
		return nil
	}
	return s.shelved.shelf.Keep(ctx, id, func(yield func(RowsKey, func() KeptRows) bool) {
		for key, piece := range newest.state.Pieces(optimizer.KeptFrom) {
			if !yield(key, func() KeptRows { return rowsOf(key, piece) }) {
				return
			}
		}
	})
}
