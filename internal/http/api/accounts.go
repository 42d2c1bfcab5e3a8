package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
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

// once makes a credential at most once for a retry key. create returns what is stored and repeated, and what the caller is told this once.
func (a *API) once(w http.ResponseWriter, r *http.Request, body []byte, create func(ctx context.Context, by account.Identity) (kept, told any, err error)) error {
	retry, err := a.retry(r, body)
	var answer any
	if err == nil {
		who, _ := request.Caller(r)
		err = a.Database.Once(r.Context(), retry, func(ctx context.Context) ([]byte, error) {
			kept, told, err := create(ctx, who)
			if err != nil {
				return nil, err
			}
			answer = told
			return json.Marshal(kept)
		})
	}
	if first := (*study.AlreadyDone)(nil); errors.As(err, &first) {
		answer, err = json.RawMessage(first.Done.Made), nil
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, answer)
}

// CreateToken is POST …/tokens.
func (a *API) CreateToken() Operation {
	return Operation{
		Handle: a.createToken, Summary: "Make an API token; its secret is told this once", Tag: "Access", Body: account.NewToken{}, Status: 201, Answer: madeToken{}, Writes: true,
	}
}

func (a *API) createToken(w http.ResponseWriter, r *http.Request) error {
	var want account.NewToken
	body, err := readJSON(r, &want)
	if err != nil {
		return err
	}
	if want.StudyID != "" {
		_, err := a.Studies.Snapshot(r.Context(), want.StudyID, 0)
		if errors.Is(err, study.ErrNotFound) {
			return design.NewInvalid("study_id", "there is no such study", want.StudyID)
		}
		if err != nil {
			return err
		}
	}
	return a.once(w, r, body, func(ctx context.Context, by account.Identity) (any, any, error) {
		token, secret, err := a.Accounts.CreateToken(ctx, by, want)
		return madeToken{Token: token}, madeToken{token, secret}, err
	})
}

// ListTokens is GET …/tokens.
func (a *API) ListTokens() Operation {
	return Operation{
		Handle: a.listTokens, Summary: "List the tokens, newest first", Tag: "Access", Status: 200, Answer: tokenList{},
	}
}

func (a *API) listTokens(w http.ResponseWriter, r *http.Request) error {
	tokens, err := a.Accounts.Tokens(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, tokenList{some(tokens)})
}

// RevokeToken is DELETE …/tokens/{token}.
func (a *API) RevokeToken() Operation {
	return Operation{
		Handle: a.revokeToken, Summary: "Revoke a token", Tag: "Access", Status: 204,
	}
}

func (a *API) revokeToken(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, a.Accounts.RevokeToken(r.Context(), chi.URLParam(r, "token")))
}

// CreateShare is POST …/shares.
func (a *API) CreateShare() Operation {
	return Operation{
		Handle: a.createShare, Summary: "Make a read-only link with an expiry; its address is told this once", Tag: "Access", Body: shareRequest{}, BodyOptional: true, Status: 201, Answer: madeShare{}, Writes: true,
	}
}

func (a *API) createShare(w http.ResponseWriter, r *http.Request) error {
	var given shareRequest
	body, err := readJSON(r, &given)
	if err != nil {
		return err
	}
	id := request.StudyID(r)
	want := account.NewShare{StudyID: id, Name: given.Name, ExpiresAt: time.Now().Add(account.UsualShareLife)}
	if want.Name == "" {
		want.Name = "Reader"
	}
	if given.ExpiresAt != nil {
		want.ExpiresAt = *given.ExpiresAt
	}
	if _, err := a.Studies.Snapshot(r.Context(), id, 0); err != nil {
		return err
	}
	return a.once(w, r, body, func(ctx context.Context, by account.Identity) (any, any, error) {
		share, secret, err := a.Accounts.CreateShare(ctx, by, want)
		return madeShare{Share: share}, madeShare{share, a.PublicURL.JoinPath("share", secret).String()}, err
	})
}

// ListShares is GET …/shares.
func (a *API) ListShares() Operation {
	return Operation{
		Handle: a.listShares, Summary: "List the study's links, newest first", Tag: "Access", Status: 200, Answer: shareList{},
	}
}

func (a *API) listShares(w http.ResponseWriter, r *http.Request) error {
	id := request.StudyID(r)
	if _, err := a.Studies.Snapshot(r.Context(), id, 0); err != nil {
		return err
	}
	shares, err := a.Accounts.Shares(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, shareList{some(shares)})
}

// RevokeShare is DELETE …/shares/{share}.
func (a *API) RevokeShare() Operation {
	return Operation{
		Handle: a.revokeShare, Summary: "Revoke a link", Tag: "Access", Status: 204,
	}
}

func (a *API) revokeShare(w http.ResponseWriter, r *http.Request) error {
	return noContent(w, a.Accounts.RevokeShare(r.Context(), request.StudyID(r), chi.URLParam(r, "share")))
}

// noContent answers a change that leaves nothing to say.
func noContent(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
