package forms

import (
	"strings"
	"time"

	"headroom/internal/account"
	"headroom/internal/lists"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

func NewInvite(into *account.NewInvite) Fields {
	return Fields{
		text("name", templates.Input{Label: "Name", Help: "As the ledger will call them"}, &into.Name).under("invite"),
		choice("role", templates.Input{Label: "Role", Options: Roles()}, &into.Role).under("invite"),
	}
}

// NewToken is the form of a token for one of the studies, or for all.
func NewToken(studies []templates.Option, into *account.NewToken) Fields {
	return Fields{
		text("name", templates.Input{Label: "Name", Help: "What it is for, such as “HPLC upload”"}, &into.Name).under("token"),
		choice("role", templates.Input{Label: "Role", Options: Roles()}, &into.Role).under("token"),
		choice("study_id", templates.Input{Label: "Study", Options: studies}, &into.StudyID).under("token"),
		day("expires_at", templates.Input{Label: "Valid to the end of", Help: "Leave empty for no end"}, &into.ExpiresAt).under("token"),
	}
}

// Roles are those to choose from.
func Roles() []templates.Option {
	return lists.Map(account.Roles, func(role account.Role) templates.Option {
		return templates.Option{Value: string(role), Label: role.Title()}
	})
}

func NewShare(into *account.NewShare) Fields {
	ends := &into.ExpiresAt
	return Fields{
		text("name", templates.Input{Label: "Whom is it for?"}, &into.Name),
		at("expires_at", templates.Input{Label: "Valid to the end of", Kind: "date"}, func() string { return ends.UTC().Format(time.DateOnly) }, func(t *Typed, name string) {
			if day := t.day(name); day != nil {
				*ends = *day
			} else {
				t.Fault(name, "choose the day it ends")
			}
		}),
	}
}

// NewEdit is the form of what can be changed of a study without touching its decisions; into has a
// place for all of it.
func NewEdit(into ledger.EditedData) Fields {
	states := []templates.Option{{Value: "open", Label: "open: trials can be asked for"}, {Value: "paused", Label: "paused: results only"},
		{Value: "finished", Label: "finished: late results only"}, {Value: "archived", Label: "archived: nothing can be saved"}}
	return Fields{
		text("name", templates.Input{Label: "Name", Required: true}, into.Name),
		text("description", templates.Input{Label: "Description", Kind: "area", Help: "Markdown: headings, lists, links. Seen by everybody who can read the study."}, into.Description),
		choice("state", templates.Input{Label: "State", Options: states}, into.State),
	}
}

// NewImport is the form in which rows of results are pasted.
func NewImport(rows *string, ignore *bool) Fields {
	return Fields{
		at("text", templates.Input{Label: "Rows", Kind: "area"}, func() string { return *rows }, func(t *Typed, name string) {
			*rows = strings.ReplaceAll(t.Values.Get(name), "\r\n", "\n") // as browsers send every line end
		}),
		check("ignore", templates.Input{Label: "Leave out columns that belong to nothing here"}, ignore),
	}
}

// NewClosing is the form in which a trial ends or is set aside.
func NewClosing(kind, reason *string) Fields {
	return Fields{text("kind", templates.Input{}, kind), text("reason", templates.Input{}, reason)}
}
