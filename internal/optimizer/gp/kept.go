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

// The rows of L can be kept outside and taken up again, which costs reading them instead of n³. They
// are kept in pieces, each under a key of all that its rows are a function of: the kernel, and the
// points and noise up to its last row. So data that begin alike share their first pieces, and what
// is kept of others is never found.

// Key is the key of a piece.
type Key [sha256.Size]byte

// Piece are rows of L, From and those that follow.
type Piece struct {
	From int
	Rows [][]float64 // row i has i+1 entries
}

// Kept is what was kept of states before. What turns out to be something else than what it stands
// for is not taken, nor is what follows it. A nil Kept has nothing.
type Kept struct {
	Rules  string // by which rows are worked out; a part of every key
	pieces map[Key]Piece

	mu    sync.Mutex
	wrong []Key
}

// A piece has largestPiece rows, or at the end, where L grows, half as many again and
// again, and not less than smallestPiece: few rows are left over, and each is kept anew a few times
// only.
const (
	largestPiece  = 256
	smallestPiece = 8
)

// NewKept returns pieces to go on from.
func NewKept(rules string, pieces map[Key]Piece) *Kept { return &Kept{Rules: rules, pieces: pieces} }

// Wrong are the keys of what was refused so far.
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

// next is the piece that begins with row from, the largest there is; keys are those of pieces by the
// row after their last one.
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

// whole tells whether a piece has all of rows from, from+1, …, so many of them.
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

// keys are those of pieces, by the row after their last one.
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

// Pieces are what can be kept of the data, under the keys that those rules make.
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

// takeUp appends the first of the points as far as their rows were kept, and returns how many. A
// row is a function of those before it, so that its being right says that they are: the last one of
// each piece is worked out anew. The points must have passed check.
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

// follows tells whether row i of L is what follows from the rows before it.
func (d *Data) follows(L *factor.Cholesky, i int) bool {
	row, before := make([]float64, i+1), L.Prefix(i)
	d.kernel.Row(row, d.inputs.Row(i), d.inputs.Prefix(i+1))
	row[i] += d.noise[i]
	return before.Append(row) == nil && sameBits(before.Row(i), L.Row(i))
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}
