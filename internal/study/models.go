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

// Models does the numerical work on studies: posteriors, predictions, and the rulings that depend
// on them. It reads and writes no ledger.
type Models struct {
	// Derived caches the results, also for callers who derive more than is offered here.
	Derived *derived.Store[*ledger.Snapshot]
	log     *slog.Logger
	memory  modelMemory
	rows    RowStore                 // nil for none
	storing derived.Together[string] // ids of studies whose rows are to be stored
}

type derivation int

const (
	stateOf derivation = iota // replayed
	readoutOf
	modelOf // that both of these are there
	gainOf
	verificationOf
	ledgerOf // the study itself, read from its first event; latestOf: from a cached version
	latestOf
)

// Kind names the group of the result in the server's metrics.
func (d derivation) Kind() string {
	return [...]string{"states", "readouts", "models", "gains", "verifications", "ledgers", "ledgers"}[d]
}

type (
	priceAt string            // of the limit of that name
	chartOf [sha256.Size]byte // at those places
)

func (priceAt) Kind() string { return "prices" }
func (chartOf) Kind() string { return "charts" }

// compute runs numerical work for a study when the scheduler gives it a turn.
func compute[T any](ctx context.Context, in *derived.Store[*ledger.Snapshot], id string, work func(ctx context.Context) (T, error)) (made T, err error) {
	err = in.Compute(ctx, id, func(ctx context.Context) (err error) {
		made, err = work(ctx)
		return err
	})
	return made, err
}

// replayed is the result of a replay: states, or the reason why there are none.
type replayed struct {
	state    *optimizer.State   // of what the ledger records
	next     *optimizer.State   // for the next decision: after the fit that is due, if any
	fit      *ledger.FittedData // that fit, to be recorded with the decision
	err      error
	measured measurement
}

// measurement is the number of bytes that states held whose histories had this extent and so many
// fits. Measuring takes a good part of the time of an ask, so it is done only now and then.
type measurement struct{ bytes, extent, fits int }

// remeasureAfter is the relative growth of a history after which its states are measured again.
const remeasureAfter = 1. / 16

// extentOf returns the number of rounds of a history plus that of its readings of all metrics.
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

// measure measures the states, unless their size follows from the measurement of others.
func (r *replayed) measure(other measurement) {
	if r.next == nil {
		return
	}
	h := r.next.History()
	extent, fits := extentOf(h), len(r.state.History().Fits)+len(h.Fits)
	if r.measured = other; other.fits != fits || math.Abs(float64(extent-other.extent)) >= remeasureAfter*float64(other.extent) {
		r.measured = measurement{int(memory.NewMeter().Of([]*optimizer.State{r.state, r.next})), extent, fits}
	}
}

// Bytes estimates the size of the states, which grows with the square of their history.
func (r replayed) Bytes() int64 {
	if r.next == nil || r.measured.extent == 0 {
		return int64(r.measured.bytes)
	}
	grown := float64(extentOf(r.next.History())) / float64(r.measured.extent)
	return int64(float64(r.measured.bytes) * grown * grown)
}

// state returns the state that the next decision is made from, which is also the one that pages
// show.
func (s *Models) state(ctx context.Context, snap *ledger.Snapshot) (*optimizer.State, error) {
	made, err := s.replay(ctx, snap)
	return made.next, err
}

// onState runs numerical work on the state that the next decision is made from.
func onState[T any](ctx context.Context, s *Models, snap *ledger.Snapshot, work func(ctx context.Context, state *optimizer.State) (T, error)) (made T, err error) {
	state, err := s.state(ctx, snap)
	if err != nil {
		return made, err
	}
	return compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (T, error) { return work(ctx, state) })
}

// replay replays snap and makes the fit that is due, at most once for each cached version. Where
// possible it extends the state of another version of the study.
func (s *Models) replay(ctx context.Context, snap *ledger.Snapshot) (replayed, error) {
	made, err := derived.Lasting(ctx, s.Derived, snap, stateOf, func(ctx context.Context) (made replayed, err error) {
		prior := s.newestReplayed(snap)
		with := optimizer.Resources{Room: s.memory.bytes}
		if prior.state == nil {
			leave, err := s.memory.enter(ctx, snap)
			if err != nil {
				return made, err
			}
			defer leave()
			with.Kept = s.storedRows(ctx, snap)
		}
		made.state, err = compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (*optimizer.State, error) {
			history := snap.History(snap.Compiled())
			if prior = s.newestReplayed(snap); prior.state != nil {
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
		s.deleteRows(ctx, snap.ID, with.Kept.Wrong())
		made.err = computeError(ctx, err)
		made.measure(prior.measured)
		s.storeRowsLater(snap)
		return made, nil
	})
	if err != nil {
		return replayed{}, err
	}
	return made, made.err
}

// nearest returns the state with as many fits as a history has: next if the fit that was due has
// been recorded since.
func (r replayed) nearest(h *optimizer.History) *optimizer.State {
	if len(h.Fits) == len(r.next.History().Fits) {
		return r.next
	}
	return r.state
}

// newestReplayed returns the latest states of the study if they were made under the same
// definition, else none.
func (s *Models) newestReplayed(snap *ledger.Snapshot) (none replayed) {
	if from, prior, found := derived.Newest[replayed](s.Derived, snap.ID); found && prior.next != nil && from.Compiled() == snap.Compiled() {
		return prior
	}
	return none
}

// limitsLearned reports whether every metric with a learned limit has a reading and a model in its
// units. Before that nothing is known of the chance to keep all limits.
func limitsLearned(c *design.Compiled, state *optimizer.State) bool {
	return !slices.ContainsFunc(c.Config.Costs, func(cost optimizer.Cost) bool {
		return cost.Knowledge == optimizer.Learned && !state.Foresees(cost.Metric)
	})
}

// keyed returns the finite values by name. It is empty if the algorithm has none.
func keyed(names []string, values []float64) map[string]float64 {
	by := make(map[string]float64, len(values))
	for i, v := range values {
		if i < len(names) && design.Finite(v) {
			by[names[i]] = v
		}
	}
	return by
}

// Prepare reports whether StateOf can answer for snap from the cache, after waiting for that until
// ctx ends, and since when the result has been computed; see derived.Store.Behind. The answer that
// there can be no model counts as ready.
func (s *Models) Prepare(ctx context.Context, snap *ledger.Snapshot) (ready bool, since time.Time, err error) {
	return s.Derived.Behind(ctx, snap, modelOf, func(ctx context.Context) error {
		if _, err := s.StateOf(ctx, snap); !errors.Is(err, ErrConflict) {
			return err
		}
		return nil
	})
}

// atMostHalf returns bytes, or half of the program's memory limit (GOMEMLIMIT) if that is less.
func atMostHalf(bytes int64) int64 {
	const unlimited = -1 // only queries the limit
	return min(bytes, debug.SetMemoryLimit(unlimited)/2)
}

// modelMemory limits the memory for models that are made from nothing: bytes for a single one, and
// bytes for all that are made at the same time.
type modelMemory struct {
	bytes int64
	free  *semaphore.Weighted
}

func newModelMemory() modelMemory {
	bytes := atMostHalf(optimizer.MostRoom)
	return modelMemory{bytes, semaphore.NewWeighted(bytes)}
}

// enter waits until the room has space for a study's model.
func (r modelMemory) enter(ctx context.Context, snap *ledger.Snapshot) (leave func(), err error) {
	n := int64(len(snap.Trials))
	most := min(r.bytes, 8*n*n*int64(len(snap.Compiled().MetricNames)))
	if err := r.free.Acquire(ctx, most); err != nil {
		return nil, err
	}
	return func() { r.free.Release(most) }, nil
}

// computeError turns a failed computation into a conflict that people can read. An error because
// ctx ended stays as it is.
func computeError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if refused := tooLarge(err, adviceOnChoosing); refused != nil {
		return refused
	}
	return conflict("The model cannot be computed: %v. Change the model or its settings.", err)
}

// tooLarge returns a conflict for a model that would need more memory than allowed, with its size
// and the advice, and nil for other errors.
func tooLarge(err error, advice string) error {
	refused, is := errors.AsType[*optimizer.TooLarge](err)
	if !is {
		return nil
	}
	n := float64(refused.Readings)
	long := "less than a minute"
	if minutes := math.Ceil(float64(refused.Regressions) * n * n * n / 3 / operationsPerMinute); minutes > 1 {
		long = fmt.Sprintf("about %g minutes", minutes)
	}
	return conflict("The model of so many readings is too large to be worked out: %s of up to %d readings would take %s of memory "+
		"and %s, and a model may take %s here. %s",
		design.Count(refused.Regressions, "regression", "regressions"), refused.Readings, formatBytes(refused.Bytes), long, formatBytes(refused.Room), advice)
}

var adviceOnChoosing = fmt.Sprintf("Results can still be told and imported, and the ledger read and exported. "+
	"To choose trials, exclude readings that tell little more, go on in a copy of the study with fewer of its trials, or list candidates: "+
	"the model of %d or fewer does not grow with the readings.", optimizer.MostListed)

// operationsPerMinute is about how many operations of a factorisation (n³/3 for n rows) two
// processors do in a minute.
const operationsPerMinute = 60 * 30e9

func formatBytes(bytes int64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

// refit makes the fit that is due, however long it takes: which decision uses it first must follow
// from the ledger alone and not from how busy the machine is. A metric that cannot be fitted keeps
// its hyperparameters; if no metric can be, the state is returned unchanged.
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

// checkFit returns an error if a fit names a metric that the study lacks or has numbers that cannot
// be computed with.
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
	if !validFit(c, c.Config.Metrics[i], m, len(now.Trials)) {
		return fmt.Errorf("no fit of %s finds such numbers", name)
	}
	return nil
}

func validFit(c *design.Compiled, metric optimizer.Metric, m ledger.FittedMetric, trials int) bool {
	noises := append(slices.Clone(m.Settings), m.Wrong...)
	switch {
	case m.Kernel != metric.Kernel.Name || m.Inputs != c.Def.Model.Inputs || m.Outputs != c.Def.Model.Outputs:
	case !design.Computable(m.Centre) || !(m.Scale > 0) || !design.Computable(m.Scale) || m.Count < 0 || m.Count > trials:
	case m.Lengthscales != nil && len(m.Lengthscales) != len(metric.Kernel.Lengthscales):
	case !nearDefaults(m.Lengthscales, metric.Kernel.Lengthscales):
	case !inFitRange(m.Lambda, m.Variance, m.Told, m.Inflation, m.Freedom):
	case !validInteraction(m.Interaction) || m.Interaction > 0 && m.Kernel != kernel.Anova:
	case !m.Warp.IsZero() && !validWarp(m.Warp):
	case slices.ContainsFunc(noises, func(n optimizer.NoiseAt) bool {
		return n.Round < 1 || n.Round > trials || !(n.Lambda > 0) || !inFitRange(n.Lambda)
	}):
	default:
		return true
	}
	return false
}

// nearDefaults reports whether each number is positive and within a factor fitRange of the one
// beside it.
func nearDefaults(numbers, beside []float64) bool {
	for i, x := range numbers {
		if !(x > 0) || !inFitRange(x/beside[i]) {
			return false
		}
	}
	return true
}

// inFitRange reports whether the numbers are within a factor fitRange of 1; 0 stands for a
// missing one.
func inFitRange(numbers ...float64) bool {
	return !slices.ContainsFunc(numbers, func(x float64) bool { return x != 0 && !(x >= 1/fitRange && x <= fitRange) })
}

// validInteraction reports whether x can be an interaction; 0 stands for none.
func validInteraction(x float64) bool { return x >= 0 && x < 1 }

// fitRange is the largest factor between a hyperparameter and 1, or its value before any fit. Fits
// stay far within it.
const fitRange = 1e12

func validWarp(w warp.Warp) bool {
	return w.Scale > 0 && inFitRange(w.Scale) && math.Abs(w.Centre) <= fitRange && w.Power >= 0 && w.Power <= 2 &&
		math.Abs(w.Origin) <= fitRange && w.Unit >= 0 && w.Unit <= fitRange
}

// Factor rows of long studies, which take long to compute, are also kept in the database, written
// behind requests, so that a server that starts can read them. Replay from nothing stays
// authoritative: stored rows are found by a hash of everything they depend on, they are checked,
// and all of them may be deleted at any time.

// RowStore stores rows computed from studies. Package db implements it.
type RowStore interface {
	// Each calls use with every piece kept of a study; its numbers are overwritten afterwards.
	Each(ctx context.Context, id string, use func(KeptRows)) error
	// Keep replaces what is kept of a study by the wanted rows, as many of the first as there is
	// room for.
	Keep(ctx context.Context, id string, wanted iter.Seq2[RowsKey, func() KeptRows]) error
	// Forget removes all that is kept of a study.
	Forget(ctx context.Context, id string) error
}

// RowsKey is a hash of everything that some rows depend on.
type RowsKey = [sha256.Size]byte

// KeptRows are consecutive rows of a lower triangular matrix.
type KeptRows struct {
	Key     RowsKey
	First   int               // of the rows
	Numbers []byte            // IEEE 754, little endian, row i having i+1
	Sum     [sha256.Size]byte // of Numbers
}

// Rows are written some time after a request, in a job of limited length. Reading may not take
// longer than computing them for a study of usual length.
const (
	storePause = 3 * time.Second
	storeLimit = 5 * time.Minute
	loadLimit  = 20 * time.Second
)

// storedRows reads the stored rows of a study that is long enough to have any.
func (s *Models) storedRows(ctx context.Context, snap *ledger.Snapshot) *gp.Kept {
	if s.rows == nil || len(snap.Trials) < optimizer.KeptFrom {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	pieces, damaged := map[gp.Key]gp.Piece{}, []gp.Key(nil)
	err := s.rows.Each(ctx, snap.ID, func(rows KeptRows) {
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
	s.deleteRows(ctx, snap.ID, damaged)
	return optimizer.NewKept(pieces)
}

func (s *Models) deleteRows(ctx context.Context, id string, wrong []gp.Key) {
	if len(wrong) == 0 {
		return
	}
	s.log.Warn("rows that were kept of a study are not those that follow from its ledger; they are thrown away and worked out anew",
		"study", id, "pieces", len(wrong))
	if err := s.rows.Forget(ctx, id); err != nil {
		s.log.Warn("rows that were kept of a study cannot be thrown away", "study", id, "error", err)
	}
}

// pieceOf decodes stored rows; whole is false if they are damaged.
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
		rows.Numbers, _ = binary.Append(rows.Numbers, binary.LittleEndian, row) // floats cannot fail to encode
	}
	rows.Sum = sha256.Sum256(rows.Numbers)
	return rows
}

// storeRowsLater has the rows of a study's newest state stored after a pause, one study after
// another, and once for all requests that arrive meanwhile.
func (s *Models) storeRowsLater(snap *ledger.Snapshot) {
	if s.rows == nil || len(snap.Trials) < optimizer.KeptFrom {
		return
	}
	s.storing.Join("", snap.ID, func(ids []string) (left []string) {
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			// What fails is in the log, and worked out again.
			_ = s.Derived.Jobs.Do(context.Background(), "shelving", id, storeLimit, func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(storePause):
					return s.storeRows(ctx, id)
				}
			})
		}
		return nil
	})
}

func (s *Models) storeRows(ctx context.Context, id string) error {
	_, newest, found := derived.Newest[replayed](s.Derived, id)
	if !found || newest.state == nil {
		return nil
	}
	return s.rows.Keep(ctx, id, func(yield func(RowsKey, func() KeptRows) bool) {
		for key, piece := range newest.state.Pieces(optimizer.KeptFrom) {
			if !yield(key, func() KeptRows { return rowsOf(key, piece) }) {
				return
			}
		}
	})
}
