package pages

import (
	"context"
	"net/http"

	"headroom/internal/view"
	"headroom/web/templates"
)

// modelReady is the event that lets the sections that wait for the model fetch themselves.
const modelReady = "model-ready"

// awaitModel gives the model of a long study a moment to be there, and notes where it is not.
func (s *Site) awaitModel(ctx context.Context, v *view.Facts) error {
	if !v.Long() || v.Whole {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, s.ModelPatience)
	defer cancel()
	ready, since, err := s.Studies.Prepare(patient, v.Snap)
	v.Working, v.Since = !ready, since
	return err
}

// showWork answers whoever waits for the model. Once it is there, the sections that need it are told.
func (s *Site) showWork(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if !v.Working {
		w.Header().Set("HX-Trigger", modelReady)
	}
	return show(w, r, http.StatusOK, templates.ModelWork(v.Work()))
}

// drawnBehind tells whether a section that needs the model can be drawn from what is at hand, having given it a moment. Of a long study what a slow
// one needs beyond the model is worked out behind the request too.
func (s *Site) drawnBehind(ctx context.Context, name string, v view.Facts) (ready bool, err error) {
	if !v.Long() || v.Working || !parts[name].slow {
		return !v.Working, nil
	}
	patient, cancel := context.WithTimeout(ctx, s.ModelPatience)
	defer cancel()
	ready, _, err = s.Studies.Derived.Behind(patient, v.Snap, name+"?"+v.Query.Encode(), func(ctx context.Context) error {
		of := v
		return s.load(ctx, &of, parts[name].needs)
	})
	return ready, err
}

// leaveAsIs lets what a page shows stay until there is something better. What waits for the model is told when that is there; what waits for more
// asks again.
func leaveAsIs(w http.ResponseWriter, v view.Facts, err error) error {
	if err != nil {
		return err
	}
	if !v.Working {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
