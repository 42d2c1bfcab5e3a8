package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/study"
)

type tokenList struct {
	Tokens []account.Token `json:"tokens"`
}

// madeToken is a new token. Its secret is told this once; a repeated request gets the rest.
type madeToken struct {
	account.Token
	Secret string `json:"token,omitempty"`
}

type shareList struct {
	Shares []account.Share `json:"shares"`
}

// madeShare is a new share link, told this once.
type madeShare struct {
	account.Share
	URL string `json:"url,omitempty"`
}

type shareRequest struct {
	Name      string     `json:"name,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // default: in 30 days
}

// usualShareLife is how long a share link works when nobody says.
const usualShareLife = 30 * 24 * time.Hour

func (s *Server) accountRoutes() []route {
	return []route{
		{Method: "POST", Pattern: "/api/v1/tokens", Access: Admin, Handler: s.createToken, Doc: &operation{
			Summary: "Make an API token; its secret is told this once", Tag: "Access", Body: account.NewToken{}, Status: 201, Answer: madeToken{}, Writes: true}},
		{Method: "GET", Pattern: "/api/v1/tokens", Access: Admin, Handler: s.listTokens, Doc: &operation{
			Summary: "List the tokens, newest first", Tag: "Access", Status: 200, Answer: tokenList{}}},
		{Method: "DELETE", Pattern: "/api/v1/tokens/{token}", Access: Admin, Handler: s.revokeToken, Doc: &operation{
			Summary: "Revoke a token", Tag: "Access", Status: 204}},
		{Method: "POST", Pattern: "/api/v1/studies/{id}/shares", Access: StudyAdmin, Handler: s.createShare, Doc: &operation{
			Summary: "Make a read-only link with an expiry; its address is told this once", Tag: "Access", Body: shareRequest{}, BodyOptional: true, Status: 201, Answer: madeShare{}, Writes: true}},
		{Method: "GET", Pattern: "/api/v1/studies/{id}/shares", Access: StudyAdmin, Handler: s.listShares, Doc: &operation{
			Summary: "List the study's links, newest first", Tag: "Access", Status: 200, Answer: shareList{}}},
		{Method: "DELETE", Pattern: "/api/v1/studies/{id}/shares/{share}", Access: StudyAdmin, Handler: s.revokeShare, Doc: &operation{
			Summary: "Revoke a link", Tag: "Access", Status: 204}},
		{Method: "GET", Pattern: "/share/{secret}", Access: Public, Handler: s.openShare},
	}
}

// once makes a credential at most once for a retry key. create returns what is stored and repeated, and what the caller is told this once.
func (s *Server) once(w http.ResponseWriter, r *http.Request, body []byte, create func(ctx context.Context, by account.Identity) (kept, told any, err error)) error {
	retry, err := s.retry(r, body)
	if err != nil {
		return err
	}
	who, _ := identity(r)
	var answer any
	err = s.db.Once(r.Context(), retry, func(ctx context.Context) (study.Answer, error) {
		kept, told, err := create(ctx, who)
		if err != nil {
			return study.Answer{}, err
		}
		answer = told
		text, err := json.Marshal(kept)
		return study.Answer{Status: http.StatusCreated, Body: text}, err
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, answer)
}

func (s *Server) createToken(w http.ResponseWriter, r *http.Request) error {
	var want account.NewToken
	body, err := readJSON(r, &want)
	if err != nil {
		return err
	}
	if want.StudyID != "" {
		_, err := s.studies.Snapshot(r.Context(), want.StudyID, 0)
		if errors.Is(err, study.ErrNotFound) {
			return invalid("body.study_id", "there is no such study", want.StudyID)
		}
		if err != nil {
			return err
		}
	}
	return s.once(w, r, body, func(ctx context.Context, by account.Identity) (any, any, error) {
		token, secret, err := s.accounts.CreateToken(ctx, by, want)
		return madeToken{Token: token}, madeToken{token, secret}, err
	})
}

func (s *Server) listTokens(w http.ResponseWriter, r *http.Request) error {
	tokens, err := s.accounts.Tokens(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, tokenList{some(tokens)})
}

func (s *Server) revokeToken(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, s.accounts.RevokeToken(r.Context(), chi.URLParam(r, "token")))
}

func (s *Server) createShare(w http.ResponseWriter, r *http.Request) error {
	var request shareRequest
	body, err := readJSON(r, &request)
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "id")
	want := account.NewShare{StudyID: id, Name: request.Name, ExpiresAt: time.Now().Add(usualShareLife)}
	if want.Name == "" {
		want.Name = "Reader"
	}
	if request.ExpiresAt != nil {
		want.ExpiresAt = *request.ExpiresAt
	}
	if _, err := s.studies.Snapshot(r.Context(), id, 0); err != nil {
		return err
	}
	return s.once(w, r, body, func(ctx context.Context, by account.Identity) (any, any, error) {
		share, secret, err := s.accounts.CreateShare(ctx, by, want)
		return madeShare{Share: share}, madeShare{share, s.publicURL.JoinPath("share", secret).String()}, err
	})
}

func (s *Server) listShares(w http.ResponseWriter, r *http.Request) error {
	id := chi.URLParam(r, "id")
	if _, err := s.studies.Snapshot(r.Context(), id, 0); err != nil {
		return err
	}
	shares, err := s.accounts.Shares(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, shareList{some(shares)})
}

func (s *Server) revokeShare(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, s.accounts.RevokeShare(r.Context(), chi.URLParam(r, "id"), chi.URLParam(r, "share")))
}

// noContent answers a change that leaves nothing to say.
func noContent(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// openShare exchanges a share link for a cookie that reads its study, and goes there.
func (s *Server) openShare(w http.ResponseWriter, r *http.Request) error {
	secret := chi.URLParam(r, "secret")
	who, err := s.accounts.Authenticate(r.Context(), secret)
	if err == nil && who.Kind != account.ByShare {
		err = account.ErrNoCredentials
	}
	if err != nil {
		err = s.refuse(w, r, err)
	}
	if refused(err) {
		return newProblem(http.StatusNotFound, "This link has expired, was revoked, or never was. Ask whoever sent it for a new one.")
	}
	if err != nil {
		return err
	}
	s.setCookie(w, shareCookie, secret, who.ExpiresAt)
	http.Redirect(w, r, "/studies/"+who.StudyID, http.StatusSeeOther)
	return nil
}
