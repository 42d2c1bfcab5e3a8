package account_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"headroom/internal/account"
)

func TestRolesIncludeThoseBelow(t *testing.T) {
	t.Parallel()
	for i, high := range account.Roles {
		for j, low := range account.Roles {
			if high.Includes(low) != (i >= j) {
				t.Errorf("%s includes %s: %t", high, low, high.Includes(low))
			}
		}
		if high.Includes("owner") || account.Role("owner").Includes(high) || account.Role("").Includes(high) {
			t.Errorf("an unknown role is comparable with %s", high)
		}
	}
	if account.CheckRole("root") == nil {
		t.Error("root is no role")
	}
}

func TestIdentityIsLimitedToItsStudy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                                 string
		who                                  account.Identity
		reads, operates, creates, administer bool
	}{
		{"nobody", account.Identity{}, false, false, false, false},
		{"viewer", account.Identity{Role: account.Viewer}, true, false, false, false},
		{"operator", account.Identity{Role: account.Operator}, true, true, true, false},
		{"admin", account.Identity{Role: account.Admin}, true, true, true, true},
		{"share of it", account.Identity{Role: account.Viewer, StudyID: "one"}, true, false, false, false},
		{"share of another", account.Identity{Role: account.Viewer, StudyID: "two"}, false, false, false, false},
		{"operator of it", account.Identity{Role: account.Operator, StudyID: "one"}, true, true, false, false},
		{"operator of another", account.Identity{Role: account.Operator, StudyID: "two"}, false, false, false, false},
	} {
		if got := [4]bool{c.who.MayRead("one"), c.who.MayOperate("one"), c.who.MayCreateStudies(), c.who.MayAdminister()}; got != [4]bool{c.reads, c.operates, c.creates, c.administer} {
			t.Errorf("%s may %v", c.name, got)
		}
	}
}

func TestFaultyRequestsNameTheField(t *testing.T) {
	t.Parallel()
	now := time.Now()
	past, soon := now.Add(-time.Second), now.Add(time.Hour)
	never := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	far := now.AddDate(2, 0, 0)
	for name, c := range map[string]struct {
		err   error
		field string // "" = fine
	}{
		"a token":               {account.NewToken{Name: "robot", Role: account.Operator}.Check(now), ""},
		"a long token":          {account.NewToken{Name: "robot", Role: account.Operator, ExpiresAt: &far}.Check(now), ""},
		"no name":               {account.NewToken{Role: account.Operator}.Check(now), "name"},
		"blank name":            {account.NewToken{Name: " ", Role: account.Operator}.Check(now), "name"},
		"padded name":           {account.NewToken{Name: " a", Role: account.Operator}.Check(now), "name"},
		"control character":     {account.NewToken{Name: "a\nb", Role: account.Operator}.Check(now), "name"},
		"not UTF-8":             {account.NewToken{Name: "a\xff", Role: account.Operator}.Check(now), "name"},
		"long name":             {account.NewToken{Name: strings.Repeat("µ", 201), Role: account.Operator}.Check(now), "name"},
		"longest name":          {account.NewToken{Name: strings.Repeat("µ", 200), Role: account.Operator}.Check(now), ""},
		"no role":               {account.NewToken{Name: "a"}.Check(now), "role"},
		"admin of one study":    {account.NewToken{Name: "a", Role: account.Admin, StudyID: new("one")}.Check(now), "role"},
		"of no study":           {account.NewToken{Name: "a", Role: account.Viewer, StudyID: new("")}.Check(now), "study_id"},
		"unwritable token":      {account.NewToken{Name: "a", Role: account.Viewer, ExpiresAt: &never}.Check(now), "expires_at"},
		"expired token":         {account.NewToken{Name: "a", Role: account.Viewer, ExpiresAt: &past}.Check(now), "expires_at"},
		"an invite":             {account.NewInvite{Name: "Ana", Role: account.Admin, ExpiresAt: &soon}.Check(now), ""},
		"invite for ever":       {account.NewInvite{Name: "Ana", Role: account.Admin, ExpiresAt: &far}.Check(now), "expires_at"},
		"expired invite":        {account.NewInvite{Name: "Ana", Role: account.Admin, ExpiresAt: &past}.Check(now), "expires_at"},
		"a share":               {account.NewShare{Name: "reviewers", ExpiresAt: soon}.Check(now), ""},
		"share without an end":  {account.NewShare{Name: "reviewers"}.Check(now), "expires_at"},
		"share for two years":   {account.NewShare{Name: "reviewers", ExpiresAt: far}.Check(now), "expires_at"},
		"invite without a name": {account.NewInvite{Role: account.Viewer}.Check(now), "name"},
	} {
		var invalid *account.Invalid
		switch {
		case c.field == "" && c.err != nil:
			t.Errorf("%s got %v", name, c.err)
		case c.field != "" && (!errors.As(c.err, &invalid) || invalid.Field != c.field):
			t.Errorf("%s got %v, not a fault of %s", name, c.err, c.field)
		}
	}
}

func TestAPINMakesNoAdmin(t *testing.T) {
	t.Parallel()
	for role, want := range map[account.Role]account.Role{
		account.Admin: account.Operator, account.Operator: account.Operator, account.Viewer: account.Viewer, "owner": "owner",
	} {
		if got := account.RoleByPIN(role); got != want {
			t.Errorf("by a PIN %s acts as %s, not as %s", role, got, want)
		}
	}
}

func TestSecretsDiffer(t *testing.T) {
	t.Parallel()
	one, two := account.NewSecret(), account.NewSecret()
	if one == two || len(one) < 30 || string(account.Hash(one)) == string(account.Hash(two)) || len(account.Hash(one)) != 32 {
		t.Fatalf("%s, %s", one, two)
	}
}

func TestCallerOutlivesSessions(t *testing.T) {
	t.Parallel()
	morning := account.Identity{Kind: account.BySession, ID: "s1", PersonID: "p"}
	evening := account.Identity{Kind: account.BySession, ID: "s2", PersonID: "p"}
	robot := account.Identity{Kind: account.ByToken, ID: "p"}
	if morning.Caller() != evening.Caller() || morning.Caller() == robot.Caller() {
		t.Fatalf("%s, %s, %s", morning.Caller(), evening.Caller(), robot.Caller())
	}
}
