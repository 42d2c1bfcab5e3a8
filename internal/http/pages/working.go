package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"headroom/web/templates"
)

// longStudy is from how many trials on a page does not wait long for the model, which takes seconds or minutes to work out then.
const longStudy = 2000

// modelPart is the part of a page that says how the work on the model stands, and asks again until it is there.
const modelPart = "model"

// modelReady is the event that lets the sections that wait for the model fetch themselves.
const modelReady = "model-ready"

// awaitModel gives the model of a long study a moment to be there, and notes where it is not.
func (s *Site) awaitModel(ctx context.Context, v *visit) error {
	if len(v.snap.Trials) < longStudy || v.whole {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, s.ModelPatience)
	defer cancel()
	ready, since, err := s.Studies.Prepare(patient, v.snap)
	v.working, v.since = !ready, since
	return err
}

// without tells the sections drawn without the model from the others.
func (v visit) without() string {
	if v.working {
		return " without the model"
	}
	return ""
}

// work says how the work on the model stands; of a study that is not long, nothing is said.
func (v visit) work() templates.Work {
	if len(v.snap.Trials) < longStudy {
		return templates.Work{}
	}
	work := templates.Work{Part: v.laterPart(modelPart), Follows: v.parts, Going: v.working}
	query := url.Values{"whole": {"yes"}}
	if v.at > 0 {
		query.Set("at", strconv.FormatInt(v.at, 10))
	}
	work.Whole = v.url + "?" + query.Encode()
	if v.working {
		work.Words = v.workingWords()
	}
	return work
}

func (v visit) workingWords() string {
	return fmt.Sprintf("The model of %s is being worked out%s. What it says will appear here by itself.", count(len(v.snap.Trials), "trial", "trials"), sinceWords(v.now.Sub(v.since)))
}

// sinceWords say for how long something has been going on, as the end of a sentence; nothing of what has just begun.
func sinceWords(d time.Duration) string {
	switch {
	case d < 2*time.Second:
		return ""
	case d < 2*time.Minute:
		return fmt.Sprintf(", for %d%ss so far", int(d.Seconds()), thin)
	}
	return fmt.Sprintf(", for %d%smin so far", int(d.Minutes()), thin)
}

// showWork answers whoever waits for the model. Once it is there, the sections that need it are told.
func (s *Site) showWork(w http.ResponseWriter, r *http.Request, v visit) error {
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if !v.working {
		w.Header().Set("HX-Trigger", modelReady)
	}
	return show(w, r, http.StatusOK, templates.ModelWork(v.work()))
}

// drawnBehind tells whether a section that needs the model can be drawn from what is at hand, having given it a moment. Of a long study what a slow
// one needs beyond the model is worked out behind the request too.
func (s *Site) drawnBehind(ctx context.Context, name string, v visit) (ready bool, err error) {
	if len(v.snap.Trials) < longStudy || v.working || !parts[name].slow {
		return !v.working, nil
	}
	patient, cancel := context.WithTimeout(ctx, s.ModelPatience)
	defer cancel()
	ready, _, err = s.Studies.Derived.Behind(patient, v.snap, name+"?"+v.query.Encode(), func(ctx context.Context) error {
		_, err := parts[name].draw(s, ctx, v)
		return err
	})
	return ready, err
}

// leaveAsIs lets what a page shows stay until there is something better. What waits for the model is told when that is there; what waits for more
// asks again.
func leaveAsIs(w http.ResponseWriter, v visit, err error) error {
	if err != nil {
		return err
	}
	if !v.working {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
