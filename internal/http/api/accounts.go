package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/request"
	"headroom/internal/study"
)

type tokenList struct {
	Tokens []account.Token `json:"tokens"`
}

// madeToken is a new token. Its secret is given once; a repeated request gets the rest.
type madeToken struct {
	account.Token
	Secret string `json:"token,omitempty"`
}

type shareList struct {
	Shares []account.Share `json:"shares"`
}

type madeShare struct {
	account.Share
	URL string `json:"url,omitempty"`
}

type shareRequest struct {
	Name      string     `json:"name,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // default: in 30 days
}

// createFunc makes a credential. It returns what is stored for repeated requests, and what the
// caller is told this once.
type createFunc func(ctx context.Context, by account.Identity) (kept, told any, err error)

func (a *API) accessOperations() operations {
	return operations{
		"createToken": creatingOnce(a, Operation{Summary: "Make an API token; only this answer has its secret", Answer: madeToken{}}, func(_ *http.Request, want account.NewToken) (createFunc, error) {
			return func(ctx context.Context, by account.Identity) (any, any, error) {
				token, secret, err := a.Accounts.CreateToken(ctx, by, want)
				return madeToken{Token: token}, madeToken{token, secret}, err
			}, nil
		}),
		"listTokens": listing(Operation{Summary: "List the tokens, newest first"}, func(r *http.Request) (tokenList, error) {
			tokens, err := a.Accounts.Tokens(r.Context())
			return tokenList{notNil(tokens)}, err
		}),
		"revokeToken": revoking("Revoke a token", func(r *http.Request) error { return a.Accounts.RevokeToken(r.Context(), chi.URLParam(r, "token")) }),
		"createShare": creatingOnce(a, Operation{
			Summary: "Make a read-only link with an expiry; only this answer has its address", BodyOptional: true, Answer: madeShare{},
		}, func(r *http.Request, given shareRequest) (createFunc, error) {
			want := account.NewShare{StudyID: request.StudyID(r), Name: cmp.Or(given.Name, "Reader"), ExpiresAt: time.Now().Add(account.UsualShareLife)}
			if given.ExpiresAt != nil {
				want.ExpiresAt = *given.ExpiresAt
			}
			snap, err := a.Studies.Snapshot(r.Context(), want.StudyID, 0)
			if err != nil {
				return nil, err
			}
			version, err := ifMatch(r)
			return func(ctx context.Context, by account.Identity) (any, any, error) {
				if version != 0 && version != snap.Version {
					return nil, nil, study.ErrStale
				}
				share, secret, err := a.Accounts.CreateShare(ctx, by, want)
				return madeShare{Share: share}, madeShare{share, a.PublicURL.JoinPath("share", secret).String()}, err
			}, err
		}),
		"listShares": listing(Operation{Summary: "List the study's links, newest first"}, func(r *http.Request) (shareList, error) {
			id := request.StudyID(r)
			if _, err := a.Studies.Snapshot(r.Context(), id, 0); err != nil {
				return shareList{}, err
			}
			shares, err := a.Accounts.Shares(r.Context(), id)
			return shareList{notNil(shares)}, err
		}),
		"revokeShare": revoking("Revoke a link", func(r *http.Request) error {
			return a.Accounts.RevokeShare(r.Context(), request.StudyID(r), chi.URLParam(r, "share"))
		}),
	}
}

// creatingOnce returns the operation that makes a credential, at most once for an idempotency key.
func creatingOnce[Q any](a *API, operation Operation, prepare func(r *http.Request, given Q) (createFunc, error)) Operation {
	var none Q
	operation.Body, operation.Status, operation.Writes = none, http.StatusCreated, true
	operation.Handle = func(w http.ResponseWriter, r *http.Request) error {
		var given Q
		body, err := readJSON(r, &given)
		if err != nil {
			return err
		}
		create, err := prepare(r, given)
		if err != nil {
			return err
		}
		key, err := idempotencyKey(r, body)
		var answer any
		if err == nil {
			who, _ := request.Caller(r)
			err = a.Database.Once(r.Context(), key, func(ctx context.Context) ([]byte, error) {
				kept, told, err := create(ctx, who)
				if err != nil {
					return nil, err
				}
				answer = told
				return json.Marshal(kept)
			})
		}
		if first, ok := errors.AsType[*study.AlreadyDone](err); ok {
			answer, err = json.RawMessage(first.Done.Made), nil
		}
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusCreated, answer)
	}
	return operation
}

// revoking returns the operation that revokes a credential and answers 204.
func revoking(summary string, revoke func(r *http.Request) error) Operation {
	return Operation{Summary: summary, Status: http.StatusNoContent, Handle: func(w http.ResponseWriter, r *http.Request) error {
		err := revoke(r)
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	}}
}
