package optimizer

import (
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/gp"
)

// keptFrom is from how many readings on rows are kept here: two whole pieces and more.
const keptFrom = 512

// keptOf are copies of what is worth keeping of a state.
func keptOf(s *State) map[gp.Key]gp.Piece {
	kept := map[gp.Key]gp.Piece{}
	for key, piece := range s.Pieces(keptFrom) {
		rows := slices.Clone(piece.Rows)
		for i := range rows {
			rows[i] = slices.Clone(rows[i])
		}
		kept[key] = gp.Piece{From: piece.From, Rows: rows}
	}
	return kept
}

// sharedPieces are what is worth keeping of a state, in its own memory.
func sharedPieces(s *State) map[gp.Key]gp.Piece { return maps.Collect(s.Pieces(keptFrom)) }

// keptStudy is a state with regressions before and after a fit that are worth keeping, and what was
// kept of it after it had been asked.
func keptStudy(t *testing.T) (*Config, *History, map[gp.Key]gp.Piece) {
	t.Helper()
	cfg, h := longHistory(t, keptFrom+100, 0)
	fit := Fit{From: keptFrom + 50}
	for range cfg.Metrics {
		fit.Metrics = append(fit.Metrics, FittedMetric{Set: true, Scale: 1, Count: 9, Lambda: 0.1, Lengthscales: []float64{0.3, 0.4}})
	}
	h.Fits = []Fit{fit}
	s := mustReplay(t, cfg, &History{Rounds: h.Rounds[:keptFrom+90], Fits: h.Fits})
	sure(s.Recommendation(background))
	return cfg, h, keptOf(s)
}

// sameKept wants what comes of a history with what was kept to be what comes of it from nothing, to
// the last bit, and tells how many of the rows were taken up.
func sameKept(t *testing.T, cfg *Config, h *History, pieces map[gp.Key]gp.Piece) (taken int, wrong []gp.Key) {
	t.Helper()
	kept := NewKept(pieces)
	a, b := sure(ReplayWithin(background, cfg, h, Resources{Kept: kept})), mustReplay(t, cfg, h)
	for _, regime := range a.regimes {
		for _, g := range regime.groups {
			for _, row := range g.Data.Factor().Rows() {
				for _, piece := range pieces {
					if i := len(row) - 1 - piece.From; 0 <= i && i < len(piece.Rows) && &piece.Rows[i][0] == &row[0] {
						taken++
					}
				}
			}
		}
	}
	sameState(t, a, b)
	if x, y := sure(a.Recommendation(background)), sure(b.Recommendation(background)); x != y {
		t.Fatalf("recommended are %d and %d", x, y)
	}
	if x, y := sure(a.Suggest(background, Known{})), sure(b.Suggest(background, Known{})); !reflect.DeepEqual(x, y) {
		t.Fatalf("decided are %+v and %+v", x, y)
	}
	return taken, kept.Wrong()
}

// TestWhatWasKeptIsTakenUp: a state goes on from rows that were kept as far as they are the same
// rows, and is the one that comes from nothing.
func TestWhatWasKeptIsTakenUp(t *testing.T) {
	t.Parallel()
	cfg, h, pieces := keptStudy(t)
	const first, second = (keptFrom + 48) &^ 7, (keptFrom + 89) &^ 7 // rows of the two regimes, in whole pieces
	for name, c := range map[string]struct {
		change func(h *History)
		want   int
	}{
		"the rounds that follow":     {func(*History) {}, first + second},
		"an early reading corrected": {func(h *History) { h.Rounds[3].Readings[0].Value++ }, first + second},
		"a round excluded":           {func(h *History) { h.Rounds[300].Excluded = true }, 2 * 256},
		"the first round excluded":   {func(h *History) { h.Rounds[0].Excluded = true }, 0},
		"another lengthscale, by a hair": {func(h *History) {
			for i := range h.Fits[0].Metrics {
				h.Fits[0].Metrics[i].Lengthscales = []float64{math.Nextafter(0.3, 1), 0.4}
			}
		}, first},
	} {
		changed := &History{Rounds: slices.Clone(h.Rounds), Fits: []Fit{h.Fits[0]}}
		for i := range changed.Rounds {
			changed.Rounds[i].Readings = slices.Clone(changed.Rounds[i].Readings)
		}
		changed.Fits[0].Metrics = slices.Clone(changed.Fits[0].Metrics)
		c.change(changed)
		if taken, wrong := sameKept(t, cfg, changed, pieces); taken != c.want || len(wrong) > 0 {
			t.Errorf("%s: %d rows taken up, want %d; %d pieces refused", name, taken, c.want, len(wrong))
		}
	}
}

// TestWhatWasKeptIsNotBelieved: rows that do not follow from those before them are worked out anew,
// and so is all that follows.
func TestWhatWasKeptIsNotBelieved(t *testing.T) {
	t.Parallel()
	cfg, h, pieces := keptStudy(t)
	for name, spoil := range map[string]func(p *gp.Piece){
		"a last row":        func(p *gp.Piece) { p.Rows[len(p.Rows)-1][7] = math.Nextafter(p.Rows[len(p.Rows)-1][7], 1) },
		"a diagonal":        func(p *gp.Piece) { row := p.Rows[len(p.Rows)/2]; row[len(row)-1] *= 1 + 1e-6 },
		"not a number":      func(p *gp.Piece) { p.Rows[0][0] = math.NaN() },
		"a row that is cut": func(p *gp.Piece) { p.Rows[3] = p.Rows[3][:len(p.Rows[3])-1] },
		"rows elsewhere":    func(p *gp.Piece) { p.From += 8 },
		"too few rows":      func(p *gp.Piece) { p.Rows = p.Rows[:len(p.Rows)-1] },
	} {
		spoiled := map[gp.Key]gp.Piece{}
		for key, piece := range pieces {
			rows := slices.Clone(piece.Rows)
			for i := range rows {
				rows[i] = slices.Clone(rows[i])
			}
			piece.Rows = rows
			spoil(&piece)
			spoiled[key] = piece
		}
		taken, wrong := sameKept(t, cfg, h, spoiled)
		if shaped := !strings.Contains(name, "row") || name == "a last row"; taken > 0 || (len(wrong) == 0) == shaped {
			t.Errorf("%s: %d rows taken up, %d pieces refused", name, taken, len(wrong))
		}
	}
	// Those of another study, under this one's keys.
	other := plain(t, 2, 2, func(c *Config) {
		*c = *cfg
		c.Metrics = slices.Clone(c.Metrics)
		c.Metrics[0].Lambda *= 1.01
		c.Metrics[1].Lambda *= 1.01
		c.Metrics[2].Lambda *= 1.01
	}, `{}`)
	of := func(c *Config) (keys []gp.Key, list []gp.Piece) {
		for key, piece := range mustReplay(t, c, &History{Rounds: h.Rounds[:keptFrom+90]}).Pieces(keptFrom) {
			keys, list = append(keys, key), append(list, piece)
		}
		return keys, list
	}
	keys, _ := of(cfg)
	_, others := of(other)
	stale := map[gp.Key]gp.Piece{}
	for i, key := range keys {
		stale[key] = others[i]
	}
	if taken, wrong := sameKept(t, cfg, &History{Rounds: h.Rounds[:keptFrom+90]}, stale); taken > 0 || len(wrong) == 0 {
		t.Errorf("%d rows of another study are taken up, %d pieces refused", taken, len(wrong))
	}
}

// TestTooLargeModelsAreRefused: before anything is worked out, from nothing and when one grows.
func TestTooLargeModelsAreRefused(t *testing.T) {
	t.Parallel()
	cfg, h := longHistory(t, 100, 1)
	bytes := func(n int64) int64 { return 4 * n * (n + 1) }
	need := bytes(48) + 3*bytes(99) // one before the fit, and now three
	s := must.Get(ReplayWithin(background, cfg, &History{Rounds: h.Rounds[:99], Fits: h.Fits}, Resources{Room: need}))(t)
	var refused *TooLarge
	if _, err := s.Extend(background, h); !errors.As(err, &refused) || refused.Readings != 100 || refused.Room != need {
		t.Errorf("more than there is room for got %v", err)
	}
}
