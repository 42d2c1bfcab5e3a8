package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// doubtful is what a form shows of doubts; names turns their fields into the form's.
func doubtful(doubts []study.Doubt, names func(field string) string) templates.Doubts {
	shown := templates.Doubts{Sure: study.Doubted(doubts)}
	for _, d := range doubts {
		shown.List = append(shown.List, templates.Doubt{Field: names(d.Field), Text: d.Text})
	}
	return shown
}

// inDoubt are the trials with something that nobody has confirmed yet, the first of them; more says how many others there are.
func (v visit) inDoubt() (shown []templates.Doubtful, more string) {
	n := 0
	for _, t := range v.snap.Trials {
		if len(t.Doubts) == 0 || t.Excluded {
			continue
		}
		if n++; n <= mostInDoubt {
			shown = append(shown, v.doubtsOf(t))
		}
	}
	if n > mostInDoubt {
		more = count(n-mostInDoubt, "more trial is", "more trials are") + " in doubt; their pages say why."
	}
	return shown, more
}

// mostInDoubt is how many trials in doubt stand at the top of the page.
const mostInDoubt = 3

// doubtsOf is what is doubted of a trial.
func (v visit) doubtsOf(t *ledger.Trial) templates.Doubtful {
	d := templates.Doubtful{Number: t.Number, URL: trialURL(v.snap.ID, t.Number), Operates: v.head.Operates && v.at == 0 && v.snap.State != ledger.Archived}
	for _, doubt := range t.Doubts {
		d.Says = append(d.Says, doubt.Why)
	}
	d.Reason = shorten("In doubt: "+strings.Join(d.Says, " "), longestReason)
	return d
}

// longestReason is how much of a doubt is kept as the reason for which a trial is excluded, in characters.
const longestReason = 500

func shorten(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}

// asShown names what a form said when its preview was made, and what else the preview was made from: what is carried out later must be the same.
func (t *typed) asShown(from string) string {
	said := strings.ReplaceAll(withoutButtons(t.values).Encode(), "%0D%0A", "%0A") // browsers end lines in their own way
	sum := sha256.Sum256([]byte(from + "\x00" + said))
	return hex.EncodeToString(sum[:12])
}
