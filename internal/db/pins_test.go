package db_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/dbtest"
)

// refused wants a PIN to be wrong, and returns how many tries are left.
func refused(t *testing.T, d *db.DB, what, person, device, pin string) int {
	t.Helper()
	_, _, err := d.Accounts.ComeBack(t.Context(), person, device, pin, "", "")
	wrong, ok := errors.AsType[*account.WrongPIN](err)
	if !ok {
		t.Errorf("%s got %v", what, err)
		return -1
	}
	return wrong.Left
}

func TestPINBringsBackOnItsDeviceOnly(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	admin := firstAdmin(t, d)
	bo := invited(t, d, "Bo", account.Operator)
	left, leftSecret := signIn(t, d, admin.ID)
	tablet, other := account.NewSecret(), account.NewSecret()
	for _, person := range []string{admin.ID, bo} {
		if err := d.Accounts.SetPIN(ctx, person, tablet, "4711", "Tablet"); err != nil {
			t.Fatal(err)
		}
	}
	var stored string
	if err := d.Pool().QueryRow(ctx, `SELECT string_agg(encode(derived, 'hex'), ' ') FROM pins`).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if one, two, _ := strings.Cut(stored, " "); one == two {
		t.Error("two people with the same PIN are stored alike")
	}
	for what, try := range map[string]struct{ person, device, pin string }{
		"another device": {bo, other, "4711"}, "a wrong PIN": {bo, tablet, "4712"}, "nobody": {"nobody", tablet, "4711"}, "no PIN": {bo, tablet, ""},
	} {
		refused(t, d, what, try.person, try.device, try.pin)
	}
	_, secret, err := d.Accounts.ComeBack(ctx, bo, tablet, "4711", "Tablet", left.ID)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := d.Accounts.Authenticate(ctx, secret); err != nil || who.PersonID != bo || who.Role != account.Operator || !who.ByPIN {
		t.Errorf("came back as %+v, %v", who, err)
	}
	if _, err := d.Accounts.Authenticate(ctx, leftSecret); !errors.Is(err, account.ErrNoCredentials) {
		t.Errorf("the session that was left got %v", err)
	}
	_, secret, err = d.Accounts.ComeBack(ctx, admin.ID, tablet, "4711", "Tablet", "")
	if err != nil {
		t.Fatal(err)
	}
	if who, err := d.Accounts.Authenticate(ctx, secret); err != nil || who.Role != account.Operator {
		t.Errorf("four digits made an admin: %+v, %v", who, err)
	}
	if err := d.Accounts.ForgetPINs(ctx, bo); err != nil {
		t.Fatal(err)
	}
	if here, err := d.Accounts.OnDevice(ctx, tablet); err != nil || len(here) != 1 || here[0].PersonID != admin.ID {
		t.Errorf("on the device are %+v, %v", here, err)
	}
	d.SetClock(func() time.Time { return time.Now().Add(account.SessionLife + time.Hour) })
	refused(t, d, "a PIN that nobody used for half a year", admin.ID, tablet, "4711")
}

// However many try at once, few PINs are looked at; then the right one does not work either, until
// it is set anew.
func TestFewPINsAreTried(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	firstAdmin(t, d)
	bo, cy := invited(t, d, "Bo", account.Operator), invited(t, d, "Cy", account.Operator)
	tablet := account.NewSecret()
	for _, person := range []string{bo, cy} {
		if err := d.Accounts.SetPIN(ctx, person, tablet, "4711", ""); err != nil {
			t.Fatal(err)
		}
	}
	var tries sync.WaitGroup
	looked := make(chan int, 3*account.PINTries)
	for range 3 * account.PINTries {
		tries.Go(func() {
			if left := refused(t, d, "a wrong PIN", bo, tablet, "1147"); left > 0 {
				looked <- left
			}
		})
	}
	tries.Wait()
	if len(looked) != account.PINTries-1 { // after the last of them none is left
		t.Errorf("%d wrong PINs were told that tries are left, not %d", len(looked), account.PINTries-1)
	}
	if left := refused(t, d, "the right PIN after too many wrong ones", bo, tablet, "4711"); left != 0 {
		t.Fatalf("after too many wrong ones %d tries are left", left)
	}
	if _, _, err := d.Accounts.ComeBack(ctx, cy, tablet, "4711", "", ""); err != nil {
		t.Errorf("somebody else on the device got %v", err)
	}
	if err := d.Accounts.SetPIN(ctx, bo, tablet, "4711", ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Accounts.ComeBack(ctx, bo, tablet, "4711", "", ""); err != nil {
		t.Errorf("the PIN set anew got %v", err)
	}
}

func TestPINOfADisabledPersonNeverWorks(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	firstAdmin(t, d)
	bo := invited(t, d, "Bo", account.Operator)
	tablet := account.NewSecret()
	if err := d.Accounts.SetPIN(ctx, bo, tablet, "4711", ""); err != nil {
		t.Fatal(err)
	}
	for _, disabled := range []bool{true, false} { // nor when they are enabled again
		if err := d.Accounts.SetDisabled(ctx, bo, disabled); err != nil {
			t.Fatal(err)
		}
		refused(t, d, "somebody who is or was disabled", bo, tablet, "4711")
		if here, err := d.Accounts.OnDevice(ctx, tablet); err != nil || len(here) > 0 {
			t.Errorf("disabled %t: on the device are %+v, %v", disabled, here, err)
		}
	}
}

func TestWhatIsNoPIN(t *testing.T) {
	t.Parallel()
	for pin, fine := range map[string]bool{
		"4711": true, "20391185": true, "1224": true, "": false, "471": false, "203911850": false, "47a1": false, "４７１１": false, "0000": false, "1234": false, "8765": false, " 4711": false,
	} {
		if err := account.CheckPIN(pin); (err == nil) != fine {
			t.Errorf("%q: %v", pin, err)
		}
	}
}
