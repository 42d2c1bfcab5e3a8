package pages

import (
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/view"
	"headroom/web/templates"
)

func (s People) SharesPage(w http.ResponseWriter, r *http.Request) error {
	form := templates.Form{Values: url.Values{"expires_at": {time.Now().Add(account.UsualShareLife).UTC().Format(time.DateOnly)}}}
	return s.showShares(w, r, http.StatusOK, form, nil)
}

func (s People) showShares(w http.ResponseWriter, r *http.Request, status int, form templates.Form, secret *templates.Secret) error {
	snap, err := s.Studies.Snapshot(r.Context(), request.StudyID(r), 0)
	if err != nil {
		return err
	}
	shares, err := s.Accounts.Shares(r.Context(), snap.ID)
	if err != nil {
		return err
	}
	page := templates.SharesPage{Page: newPage(r, "Share "+snap.Definition.Name), Study: studyHead(r, snap), Form: form, Secret: secret}
	page.Width = "medium"
	for _, share := range shares {
		page.Shares = append(page.Shares, templates.ShareLine{Share: share, Expires: view.Stamp(share.ExpiresAt, page.Now), Used: view.OptionalStamp(share.LastUsed, page.Now)})
	}
	return show(w, r, status, templates.SharesView(page))
}

// MakeShare makes a read-only link, shown once.
func (s People) MakeShare(w http.ResponseWriter, r *http.Request) error {
	return submit(w, r, func(form *typed) submission {
		want := account.NewShare{StudyID: request.StudyID(r), Name: form.text("name")}
		if at := form.day("expires_at"); at != nil {
			want.ExpiresAt = *at
		} else if form.ok() {
			form.fault("expires_at", "choose the day it ends")
		}
		var secret string
		return submission{
			do: func(study.Command) (err error) {
				who, _ := request.Caller(r)
				_, secret, err = s.Accounts.CreateShare(r.Context(), who, want)
				return err
			},
			done: func() error {
				made := &templates.Secret{Title: "Link for " + want.Name, Text: s.PublicURL.JoinPath("share", secret).String(), Help: "Send it to them. It cannot be shown again."}
				return s.showShares(w, r, http.StatusOK, templates.Form{Values: url.Values{"expires_at": {form.text("expires_at")}}}, made)
			},
			names: itself,
			again: func(form templates.Form) error { return s.showShares(w, r, http.StatusUnprocessableEntity, form, nil) },
		}
	})
}

// RevokeShare ends a read-only link.
func (s People) RevokeShare(w http.ResponseWriter, r *http.Request) error {
	id := request.StudyID(r)
	return submit(w, r, func(*typed) submission {
		return submission{
			do: func(study.Command) error { return s.Accounts.RevokeShare(r.Context(), id, chi.URLParam(r, "share")) },
			to: "/studies/" + id + "/shares?done=revoked",
		}
	})
}
