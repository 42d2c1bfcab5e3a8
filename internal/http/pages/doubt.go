package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"headroom/internal/study"
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

// asShown names what a form said when its preview was made, and what else the preview was made from: what is carried out later must be the same.
func (t *typed) asShown(from string) string {
	said := strings.ReplaceAll(withoutButtons(t.values).Encode(), "%0D%0A", "%0A") // browsers end lines in their own way
	sum := sha256.Sum256([]byte(from + "\x00" + said))
	return hex.EncodeToString(sum[:12])
}
