package gp

import (
	"crypto/sha256"
	"io"
	"iter"
	"math"
	"slices"
	"sync"

	"headroom/internal/lists"
	"headroom/internal/optimizer/factor"
)

// The rows of L can be stored and reused, which takes reading them instead of O(n³). They are
// stored in pieces. The key of a piece is a hash of all that its rows are a function of: the
// kernel, and the points and noise up to its last row. So data with the same beginning share their
// first pieces, and those of other data are never found.

// Key is the key of a piece.
type Key [sha256.Size]byte

// Piece is some rows of L, the first of them row From.
type Piece struct {
	From int
	Rows [][]float64 // row i has i+1 entries
}

// Kept holds the stored pieces of earlier states. A piece that turns out to be wrong is not used,
// nor are those after it. A nil Kept is empty.
type Kept struct {
	Rules  string // the version of the rules that rows are computed by; a part of every key
	pieces map[Key]Piece

	mu    sync.Mutex
	wrong []Key
}

// A piece has largestPiece rows or, at the end, where L grows, half or a quarter as many and so on,
// down to smallestPiece: so few rows are left over, and each is stored only a few times.
const (
	largestPiece  = 256
	smallestPiece = 8
)

// NewKept returns a Kept with these pieces.
func NewKept(rules string, pieces map[Key]Piece) *Kept { return &Kept{Rules: rules, pieces: pieces} }

// Wrong are the keys of the pieces refused so far.
func (k *Kept) Wrong() []Key {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.wrong)
}

func (k *Kept) refuse(key Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wrong = append(k.wrong, key)
}

// next is the largest piece that begins with row from; keys are the keys of pieces by the row after
// their last one.
func (k *Kept) next(keys map[int]Key, from int) (key Key, piece Piece, found bool) {
	for size := largestPiece; size >= smallestPiece; size /= 2 {
		key, possible := keys[from+size]
		if !possible || from%size != 0 {
			continue
		}
		if piece, found = k.pieces[key]; found && piece.whole(from, size) {
			return key, piece, true
		}
	}
	return Key{}, Piece{}, false
}

// whole tells whether a piece has all of so many rows from row from on.
func (p Piece) whole(from, size int) bool {
	if p.From != from || len(p.Rows) != size {
		return false
	}
	for i, row := range p.Rows {
		if len(row) != from+i+1 {
			return false
		}
	}
	return true
}

// keys are the keys of pieces, by the row after their last one.
func (d *Data) keys(rules string) map[int]Key {
	keys, sum := map[int]Key{}, sha256.New()
	_, _ = io.WriteString(sum, rules+"\n")
	d.kernel.Identify(sum)
	for i := range d.noise {
		_, _ = sum.Write(lists.Bits(append(d.inputs.Row(i), d.noise[i])))
		if (i+1)%smallestPiece == 0 {
			keys[i+1] = Key(sum.Sum(nil))
		}
	}
	return keys
}

// Pieces are the pieces of the data that can be stored, with their keys under those rules.
func (d *Data) Pieces(rules string) iter.Seq2[Key, Piece] {
	return func(yield func(Key, Piece) bool) {
		keys, rows := d.keys(rules), d.factor.Rows()
		for from := 0; ; {
			size := largestPiece
			for size >= smallestPiece && from+size > len(rows) {
				size /= 2
			}
			if size < smallestPiece || !yield(keys[from+size], Piece{from, rows[from : from+size]}) {
				return
			}
			from += size
		}
	}
}

// takeUp appends the first of the points as far as their rows were stored, and returns how many.
// The last row of each piece is computed anew as a check: it is a function of all rows before it.
// The points must have passed check.
func (d *Data) takeUp(kept *Kept, xs [][]float64, lambdas []float64) int {
	if kept == nil || len(kept.pieces) == 0 || d.Len() > 0 {
		return 0
	}
	all := &Data{kernel: d.kernel, inputs: d.inputs.Prefix(0), noise: lambdas, factor: new(factor.Cholesky)}
	for _, x := range xs {
		all.inputs.Append(x)
	}
	keys := all.keys(kept.Rules)
	for {
		n := all.factor.Len()
		key, piece, found := kept.next(keys, n)
		if !found {
			break
		}
		grown := all.factor.Prefix(n)
		grown.TakeUp(piece.Rows)
		if last := grown.Len() - 1; !all.follows(grown, last) {
			kept.refuse(key)
			break
		}
		all.factor = grown
	}
	n := all.factor.Len()
	d.inputs, d.noise, d.factor = all.inputs.Prefix(n), lambdas[:n:n], all.factor
	d.addGains(0)
	return n
}

// follows tells whether row i of L follows from the rows before it.
func (d *Data) follows(L *factor.Cholesky, i int) bool {
	row, before := make([]float64, i+1), L.Prefix(i)
	d.kernel.Row(row, d.inputs.Row(i), d.inputs.Prefix(i+1))
	row[i] += d.noise[i]
	return before.Append(row) == nil && sameBits(before.Row(i), L.Row(i))
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}
