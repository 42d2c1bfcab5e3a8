package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/db/dbtest"
	"headroom/internal/must"
)

// ran does what “headroom NAME ARGS” does, in this process.
func ran(ctx context.Context, name string, args []string) error {
	return perform(ctx, append([]string{name}, args...))
}

// TestEveryCommandHelps: each has a help with every argument and flag, and one, as all of them,
// says it in three ways: on standard output, whatever the settings are, and without a word of
// complaint.
func TestEveryCommandHelps(t *testing.T) {
	t.Parallel()
	folder, broken := dbtest.Folder(t), []string{"HEADROOM_LISTEN=nonsense"}
	said := func(args ...string) string {
		t.Helper()
		text, complaint, err := output(t, program(t, folder, broken, args...))
		if err != nil || complaint != "" {
			t.Errorf("headroom %s: %v %s", strings.Join(args, " "), err, complaint)
		}
		return text
	}
	all := said("help")
	for _, form := range []string{"-h", "-help", "--help"} {
		if said(form) != all {
			t.Errorf("headroom %s is not headroom help", form)
		}
	}
	for _, one := range commands() {
		text := one.help()
		if !strings.HasPrefix(text, "headroom "+one.usage()+"\n\n") || !strings.Contains(all, "\n  headroom "+one.usage()+"  ") {
			t.Errorf("%s is not shown as it is called: %q", one.name, text)
		}
		if one.does == "" || strings.HasSuffix(one.does, ".") {
			t.Errorf("%s says that it does %q, which must be a line without a full stop", one.name, one.does)
		}
		set, _ := one.flags()
		set.VisitAll(func(f *flag.Flag) {
			if f.Usage == "" || !strings.Contains(text, "\n  -"+f.Name) || !strings.Contains(text, f.Usage) {
				t.Errorf("the help of %s does not explain -%s", one.name, f.Name)
			}
		})
	}
	one := must.Get(findCommand("rehearse"))(t)
	for _, form := range [][]string{{one.name, "-h"}, {"help", one.name}, {one.name, "some", "argument", "--help"}} {
		if said(form...) != one.help() {
			t.Errorf("headroom %s is not the help of %s", strings.Join(form, " "), one.name)
		}
	}
}

// TestEveryCommandCountsItsArguments: one too few or one too many is refused in a line that shows
// how it is called.
func TestEveryCommandCountsItsArguments(t *testing.T) {
	t.Parallel()
	for _, one := range commands() {
		least, most := one.argumentRange()
		for _, n := range []int{least - 1, most + 1} {
			if n < 0 {
				continue // nothing is less than none, and nothing more than any number
			}
			err := ran(t.Context(), one.name, make([]string, n))
			if err == nil || !strings.Contains(err.Error(), "the command is “headroom "+one.usage()+"”") {
				t.Errorf("%s with %d arguments gives %v", one.name, n, err)
			}
		}
	}
}

// TestAnEmptyFlagDoesNotWiden: one that narrows what a command reaches is refused where it is empty, as
// of a variable that was never set, and not taken for one that was left out.
func TestAnEmptyFlagDoesNotWiden(t *testing.T) {
	t.Parallel()
	for name, flag := range map[string]string{"token": "-study", "judge": "-only", "bench": "-only"} {
		if err := ran(t.Context(), name, []string{flag, ""}); err == nil || !strings.Contains(err.Error(), flag+": it is empty; leave it out") {
			t.Errorf("%s %s with nothing gives %v", name, flag, err)
		}
	}
}

func TestVersionIsSaidInEveryForm(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"version", "-version", "--version"} {
		text, complaint, err := output(t, program(t, dbtest.Folder(t), []string{"HEADROOM_LISTEN=nonsense"}, form))
		if err != nil || text != version+"\n" || complaint != "" {
			t.Errorf("headroom %s said %q, %v %s", form, text, err, complaint)
		}
	}
}

// TestCompletion: bash offers every command, and every command's flags; the scripts of the other
// shells have them too.
func TestCompletion(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, complaint, err := output(t, program(t, dbtest.Folder(t), nil, "completion", shell))
		if err != nil {
			t.Fatal(complaint)
		}
		scripts[shell] = text
	}
	offered := func(words ...string) string {
		t.Helper()
		ask := fmt.Sprintf("%s\nCOMP_WORDS=(headroom '%s'); COMP_CWORD=%d; _headroom; echo \" ${COMPREPLY[*]} \"", scripts["bash"], strings.Join(words, "' '"), len(words))
		text, complaint, err := output(t, exec.CommandContext(t.Context(), "bash", "-euc", ask))
		if err != nil {
			t.Fatal(complaint)
		}
		return text
	}
	first, helped := offered(""), offered("help", "")
	for _, one := range commands() {
		if !strings.Contains(first, " "+one.name+" ") || !strings.Contains(helped, " "+one.name+" ") {
			t.Errorf("%s is not offered: %s%s", one.name, first, helped)
		}
		flags := offered(one.name, "-")
		one.eachFlag(func(name, _ string) {
			if !strings.Contains(flags, " -"+name+" ") {
				t.Errorf("-%s of %s is not offered: %s", name, one.name, flags)
			}
			if !strings.Contains(scripts["fish"], "seen_subcommand_from "+one.name+"' -o "+name+" ") {
				t.Errorf("fish does not know -%s of %s", name, one.name)
			}
		})
	}
	if offered("wat") != " watch \n" || offered("completion", "z") != " zsh \n" || !strings.Contains(scripts["zsh"], scripts["bash"]) {
		t.Errorf("wat is completed to %q", offered("wat"))
	}
	if err := ran(t.Context(), "completion", []string{"tcsh"}); err == nil || !strings.Contains(err.Error(), "tcsh") {
		t.Errorf("completion for tcsh gives %v", err)
	}
}

// TestOutputThatIsLostIsAnError: whatever prints says so where its standard output takes nothing.
func TestOutputThatIsLostIsAnError(t *testing.T) {
	t.Parallel()
	full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	for _, args := range [][]string{
		{"help"}, {"help", "serve"}, {"serve", "-h"}, {"version"}, {"completion", "bash"},
		{"simulate", "-list"}, {"rehearse", "-list"},
	} {
		var complaint strings.Builder
		run := program(t, dbtest.Folder(t), nil, args...)
		run.Stdout, run.Stderr = full, &complaint
		if err := run.Run(); err == nil || !isOneLine(complaint.String(), "no space left on device") {
			t.Errorf("headroom %s: %v, it said %q", strings.Join(args, " "), err, complaint.String())
		}
	}
}

// TestFilesComeFromStandardInput: - stands for it wherever the simulator and the rehearsals read a
// file; restore and verify have their own tests.
func TestFilesComeFromStandardInput(t *testing.T) {
	t.Parallel()
	table := filepath.Join(filepath.Dir(specIn(t)), "own.csv")
	for _, c := range []struct {
		input string
		args  []string
	}{
		{fileOf(t, written(t)), []string{"simulate", "-problem", "sensors", "-algorithm", "rpol-ucb", "-horizon", "5", "-seeds", "1", "-readings", "-"}},
		{fileOf(t, written(t)), []string{"simulate", "-problem", "sensors", "-algorithm", "rpol-ucb", "-horizon", "5", "-seeds", "1", "-prior-readings", "-"}},
		{`{"beta": 2}`, []string{"simulate", "-problem", "sine-pocket", "-algorithm", "rpol-ucb", "-grid", "5", "-horizon", "5", "-seeds", "1", "-settings", "@-"}},
		{fileOf(t, specIn(t)), []string{"rehearse", "-spec", "-", "-table", table, "-start", "3", "-asks", "2", "-seeds", "1"}},
		{fileOf(t, table), []string{"rehearse", "-spec", specIn(t), "-table", "-", "-start", "3", "-asks", "2", "-seeds", "1"}},
	} {
		run := program(t, dbtest.Folder(t), nil, append(c.args, "-out", filepath.Join(t.TempDir(), "out"))...)
		run.Stdin = strings.NewReader(c.input)
		if text, complaint, err := output(t, run); err != nil || !strings.Contains(text, "1 seed ") {
			t.Errorf("headroom %s: %s%s", strings.Join(c.args, " "), text, complaint)
		}
	}
}
