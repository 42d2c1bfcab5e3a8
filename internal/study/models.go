package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"headroom/internal/derived"
	"headroom/internal/memory"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Models are what algorithms and their models make of studies: what is believed, and what a rule
// may rule that needs to know it. They read no ledger and write none.
type Models struct {
	// Derived is what has been worked out, for who shows more of it than is said here.
	Derived *derived.Store[*ledger.Snapshot]
	log     *slog.Logger
	room    room
	shelf   Shelf                    // nil for none
	shelve  derived.Together[string] // studies with rows to put there
}

type derivation int

const (
	stateOf derivation = iota // replayed
	readoutOf
	modelOf // that the two are there
	gainOf
	verificationOf
	ledgerOf // and latestOf: the study itself, read from nothing and from what is kept
	latestOf
)

// Kind groups them in the server's figures.
func (d derivation) Kind() string {
	return [...]string{"states", "readouts", "models", "gains", "verifications", "ledgers", "ledgers"}[d]
}

type (
	priceAt string            // of the limit of that name
	chartOf [sha256.Size]byte // at those places
)

func (priceAt) Kind() string { return "prices" }
func (chartOf) Kind() string { return "charts" }

// compute runs numerical work about a study in its turn.
func compute[T any](ctx context.Context, in *derived.Store[*ledger.Snapshot], id string, work func(ctx context.Context) (T, error)) (made T, err error) {
	err = in.Compute(ctx, id, func(ctx context.Context) (err error) {
		made, err = work(ctx)
		return err
	})
	return made, err
}

// replayed is what came of a replay: states, or why there can be none.
type replayed struct {
	state   *optimizer.State   // of what is recorded
	next    *optimizer.State   // that the next decision is made from: after the fit that is due, if one is
	fit     *ledger.FittedData // that fit, to be recorded with the decision
	err     error
	weighed weighed
}

// weighed is how many bytes states held whose history had that extent, and so many fits. To weigh
// one takes as long as a good part of an ask, so it is done now and then.
type weighed struct{ bytes, extent, fits int }

// weighingShare is the share by which a history grows, or shrinks, between two weighings.
const weighingShare = 1. / 16

// extentOf is how many rounds a history has, and how many readings of all metrics.
func extentOf(h *optimizer.History) (extent int) {
	for i := range h.Rounds {
		extent++
		for _, r := range h.Rounds[i].Readings {
			if r.Told {
				extent++
			}
		}
	}
	return extent
}

// weigh finds out what the states hold, if that does not follow from what others held.
func (r *replayed) weigh(other weighed) {
	if r.next == nil {
		return
	}
	h := r.next.History()
	extent, fits := extentOf(h), len(r.state.History().Fits)+len(h.Fits)
	if r.weighed = other; other.fits != fits || math.Abs(float64(extent-other.extent)) >= weighingShare*float64(other.extent) {
		r.weighed = weighed{int(memory.NewMeter().Of([]*optimizer.State{r.state, r.next})), extent, fits}
	}
}

// Bytes is what the states hold, which grows with the square of their history.
func (r replayed) Bytes() int64 {
	if r.next == nil || r.weighed.extent == 0 {
		return int64(r.weighed.bytes)
	}
	grown := float64(extentOf(r.next.History())) / float64(r.weighed.extent)
	return int64(float64(r.weighed.bytes) * grown * grown)
}

// state is what the algorithm makes of snap: what the next decision is made from, and all that is
// shown is told of.
func (s *Models) state(ctx context.Context, snap *ledger.Snapshot) (*optimizer.State, error) {
	made, err := s.replay(ctx, snap)
	return made.next, err
}

// replay plays snap, and makes the fit that is due, at most once for each version that is kept and,
// where possible, from a state of another version of the study.
func (s *Models) replay(ctx context.Context, snap *ledger.Snapshot) (replayed, error) {
	made, err := derived.Lasting(ctx, s.Derived, snap, stateOf, func(ctx context.Context) (made replayed, err error) {
		prior := s.toExtend(snap)
		with := optimizer.Resources{Room: s.room.bytes}
		if prior.state == nil {
			leave, err := s.room.enter(ctx, snap)
			if err != nil {
				return made, err
			}
			defer leave()
			with.Kept = s.kept(ctx, snap)
		}
		made.state, err = compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (*optimizer.State, error) {
			history := snap.History(snap.Compiled())
			if prior = s.toExtend(snap); prior.state != nil {
				return prior.nearest(history).Extend(ctx, history)
			}
			return optimizer.ReplayWithin(ctx, snap.Compiled().Config, history, with)
		})
		if err == nil {
			made.next, made.fit, err = s.refit(ctx, snap, made.state)
		}
		if ctx.Err() != nil {
			return made, ctx.Err()
		}
		s.refuse(ctx, snap.ID, with.Kept.Wrong())
		made.err = notComputable(ctx, err)
		made.weigh(prior.weighed)
		s.keepLater(snap)
		return made, nil
	})
	if err != nil {
		return replayed{}, err
	}
	return made, made.err
}

// nearest is the one whose fits a history has: it has that which was due where an ask came since.
func (r replayed) nearest(h *optimizer.History) *optimizer.State {
	if len(h.Fits) == len(r.next.History().Fits) {
		return r.next
	}
	return r.state
}

// toExtend returns the latest states of the study, if they were made under the same definition, else
// none.
func (s *Models) toExtend(snap *ledger.Snapshot) (none replayed) {
	if from, prior, found := derived.Newest[replayed](s.Derived, snap.ID); found && prior.next != nil && from.Compiled() == snap.Compiled() {
		return prior
	}
	return none
}

// Prepare tells whether StateOf answers for snap from what is at hand, having waited for that until
// ctx ends, and since when it is being worked out; see derived.Store.Behind. That there can be no
// model is an answer too.
func (s *Models) Prepare(ctx context.Context, snap *ledger.Snapshot) (ready bool, since time.Time, err error) {
	return s.Derived.Behind(ctx, snap, modelOf, func(ctx context.Context) error {
		if _, err := s.StateOf(ctx, snap); !errors.Is(err, ErrConflict) {
			return err
		}
		return nil
	})
}

// atMostHalf is so much, or half of what the program may use at all (GOMEMLIMIT) where that is less.
func atMostHalf(bytes int64) int64 {
	const unlimited = -1 // asks what the limit is, and changes nothing
	return min(bytes, debug.SetMemoryLimit(unlimited)/2)
}

// room is the memory for models that are being made from nothing: so much for one, and for all that
// are made at once.
type room struct {
	bytes int64
	left  *semaphore.Weighted
}

// enter waits until there is room for a study's model beside those that are being made.
func (r room) enter(ctx context.Context, snap *ledger.Snapshot) (leave func(), err error) {
	n := int64(len(snap.Trials))
	most := min(r.bytes, 8*n*n*int64(len(snap.Compiled().MetricNames)))
	if err := r.left.Acquire(ctx, most); err != nil {
		return nil, err
	}
	return func() { r.left.Release(most) }, nil
}

// notComputable is a model that cannot be computed with the numbers as they are now; what ended the
// work early stays what it was.
func notComputable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if refused := tooLarge(err); refused != nil {
		return refused
	}
	return conflict("The model cannot be computed: %v. Change the model or its settings.", err)
}

// tooLarge says of a model that would take more memory than it may what it would take, and what its
// study's people can do; nil for other errors.
func tooLarge(err error) error {
	refused, is := errors.AsType[*optimizer.TooLarge](err)
	if !is {
		return nil
	}
	n := float64(refused.Readings)
	long := "less than a minute"
	if minutes := math.Ceil(float64(refused.Regressions) * n * n * n / 3 / workAMinute); minutes > 1 {
		long = fmt.Sprintf("about %g minutes", minutes)
	}
	return conflict("The model of so many readings is too large to be worked out: %s of up to %d readings would take %s of memory "+
		"and %s, and a model may take %s here. Results can still be told and imported, and the ledger read and exported. "+
		"To choose trials, exclude readings that tell little more, go on in a copy of the study with fewer of its trials, or list candidates: "+
		"the model of %d or fewer does not grow with the readings.",
		design.Count(refused.Regressions, "regression", "regressions"), refused.Readings, amount(refused.Bytes), long, amount(refused.Room), optimizer.MostListed)
}

// workAMinute is about how many operations of a factorisation, n³/3 of n rows, take a minute on two
// processors of our time.
const workAMinute = 60 * 30e9

func amount(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

// refit makes the fit that is due in a state of snap, however long that takes: which decision it
// serves first follows from the ledger alone, not from how busy the machine is. A metric of which
// none can be made stays as it was; where there is none at all the state is the same.
func (s *Models) refit(ctx context.Context, snap *ledger.Snapshot, state *optimizer.State) (*optimizer.State, *ledger.FittedData, error) {
	if !state.FitDue() {
		return state, nil, nil
	}
	fit, err := compute(ctx, s.Derived, snap.ID, state.FitNow)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	made := fittedData(snap, fit)
	maps.DeleteFunc(made.Metrics, func(name string, m ledger.FittedMetric) bool {
		wrong := checkFitted(snap, name, m)
		err = cmp.Or(err, wrong)
		return wrong != nil
	})
	if err != nil {
		s.log.Warn("not every metric could be fitted", "study", snap.ID, "version", snap.Version, "error", err)
	}
	if len(made.Metrics) == 0 {
		return state, nil, nil
	}
	h := *state.History()
	h.Rewritten, h.Fits = false, append(slices.Clip(h.Fits), ledger.FitsUnder(snap.Compiled(), []ledger.FittedData{*made})...)
	after, err := compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (*optimizer.State, error) {
		return state.Extend(ctx, &h)
	})
	return after, made, err
}

func fittedData(snap *ledger.Snapshot, fit optimizer.Fit) *ledger.FittedData {
	c := snap.Compiled()
	data := &ledger.FittedData{From: fit.From, Seen: snap.Version, Engine: optimizer.Engine, Metrics: map[string]ledger.FittedMetric{}}
	for k, m := range fit.Metrics {
		if !m.Set {
			continue
		}
		data.Metrics[c.MetricNames[k]] = ledger.FittedMetric{Kernel: c.Config.Metrics[k].Kernel.Name,
			Inputs: c.Def.Model.Inputs, Outputs: c.Def.Model.Outputs, FittedMetric: m}
	}
	return data
}

// checkFit tells what of a fit cannot be computed with, or has no metric of the study.
func checkFit(now *ledger.Snapshot, data ledger.FittedData) error {
	for name, m := range data.Metrics {
		if err := checkFitted(now, name, m); err != nil {
			return err
		}
	}
	return nil
}

func checkFitted(now *ledger.Snapshot, name string, m ledger.FittedMetric) error {
	c := now.Compiled()
	i := slices.Index(c.MetricNames, name)
	if i < 0 {
		return fmt.Errorf("%q has no model", design.Shorten(name))
	}
	if !fits(c, c.Config.Metrics[i], m, len(now.Trials)) {
		return fmt.Errorf("no fit of %s finds such numbers", name)
	}
	return nil
}

func fits(c *design.Compiled, metric optimizer.Metric, m ledger.FittedMetric, trials int) bool {
	noises := append(slices.Clone(m.Settings), m.Wrong...)
	switch {
	case m.Kernel != metric.Kernel.Name || m.Inputs != c.Def.Model.Inputs || m.Outputs != c.Def.Model.Outputs:
	case !design.Computable(m.Centre) || !(m.Scale > 0) || !design.Computable(m.Scale) || m.Count < 0 || m.Count > trials:
	case m.Lengthscales != nil && len(m.Lengthscales) != len(metric.Kernel.Lengthscales):
	case !around(m.Lengthscales, metric.Kernel.Lengthscales):
	case !aroundOne(m.Lambda, m.Variance, m.Told, m.Inflation, m.Freedom):
	case !isShare(m.Interaction) || m.Interaction > 0 && m.Kernel != kernel.Anova:
	case !m.Warp.IsZero() && !warps(m.Warp):
	case slices.ContainsFunc(noises, func(n optimizer.NoiseAt) bool {
		return n.Round < 1 || n.Round > trials || !(n.Lambda > 0) || !aroundOne(n.Lambda)
	}):
	default:
		return true
	}
	return false
}

// around tells whether numbers are within mostFitted of what they are beside.
func around(numbers, beside []float64) bool {
	for i, x := range numbers {
		if !(x > 0) || !aroundOne(x/beside[i]) {
			return false
		}
	}
	return true
}

// aroundOne tells whether numbers that are there, which 0 says they are not, are within mostFitted
// of 1.
func aroundOne(numbers ...float64) bool {
	return !slices.ContainsFunc(numbers, func(x float64) bool { return x != 0 && !(x >= 1/mostFitted && x <= mostFitted) })
}

// isShare tells whether an interaction is one, 0 standing for none.
func isShare(x float64) bool { return x >= 0 && x < 1 }

// How far hyperparameters can be from 1, or from what they were before any fit. Fits do not come
// near it.
const mostFitted = 1e12

func warps(w warp.Warp) bool {
	return w.Scale > 0 && aroundOne(w.Scale) && math.Abs(w.Centre) <= mostFitted && w.Power >= 0 && w.Power <= 2 &&
		math.Abs(w.Origin) <= mostFitted && w.Unit >= 0 && w.Unit <= mostFitted
}

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

// kept is what the shelf has of a study that is long enough.
func (s *Models) kept(ctx context.Context, snap *ledger.Snapshot) *gp.Kept {
	if s.shelf == nil || len(snap.Trials) < optimizer.KeptFrom {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readingTime)
	defer cancel()
	pieces, damaged := map[gp.Key]gp.Piece{}, []gp.Key(nil)
	err := s.shelf.Each(ctx, snap.ID, func(rows KeptRows) {
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
	if err := s.shelf.Forget(ctx, id); err != nil {
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
		n, err := binary.Decode(left, binary.LittleEndian, row)
		if err != nil {
			return piece, false
		}
		left = left[n:]
	}
	return piece, true
}

func rowsOf(key gp.Key, piece gp.Piece) KeptRows {
	numbers := 0
	for _, row := range piece.Rows {
		numbers += len(row)
	}
	rows := KeptRows{Key: key, First: piece.From, Numbers: make([]byte, 0, 8*numbers)}
	for _, row := range piece.Rows {
		rows.Numbers, _ = binary.Append(rows.Numbers, binary.LittleEndian, row) // all of them are numbers
	}
	rows.Sum = sha256.Sum256(rows.Numbers)
	return rows
}

// keepLater has what is worth keeping of a study's newest state put on the shelf after a while,
// behind the requests, one study after another and once for all that ask for it meanwhile.
func (s *Models) keepLater(snap *ledger.Snapshot) {
	if s.shelf == nil || len(snap.Trials) < optimizer.KeptFrom {
		return
	}
	s.shelve.Join("", snap.ID, func(ids []string) (left []string) {
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
	return s.shelf.Keep(ctx, id, func(yield func(RowsKey, func() KeptRows) bool) {
		for key, piece := range newest.state.Pieces(optimizer.KeptFrom) {
			if !yield(key, func() KeptRows { return rowsOf(key, piece) }) {
				return
			}
		}
	})
}
