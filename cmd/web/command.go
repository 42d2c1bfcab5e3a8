package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/files"
	"headroom/internal/lists"
	"headroom/internal/study"
)

// The list of commands is ours and Go's flag package reads the flags: spf13/cobra, with its pflag,
// knows no -seeds with one dash, which every documented command has, and its 13 000 lines would
// take the place of 270 here.

type command struct {
	name  string
	takes string // its arguments: optional ones in brackets, … after a last one that may be repeated
	does  string // one line
	more  string // the rest of its own help
	ready func(set *flag.FlagSet) action
}

// action does a command's work, once the flags that ready declared have been read.
type action func(ctx context.Context, args []string) error

// configured returns an action that needs the settings of the environment.
func configured(do func(ctx context.Context, c config, args []string) error) action {
	return func(ctx context.Context, args []string) error {
		c, err := readConfig(os.Getenv)
		if err != nil {
			return err
		}
		return do(ctx, c, args)
	}
}

// plain returns the ready function of a command without flags.
func plain(do action) func(*flag.FlagSet) action {
	return func(*flag.FlagSet) action { return do }
}

// commands is a function because help reads the list that it stands in.
func commands() []command {
	return []command{
		{"serve", "", "run the server (also without a command)", serveHelp, serve},
		{"link", "", "print a new sign-in link for the first admin", "", plain(configured(link))},
		{"token", "", "make an API token and print it, this once", "", token},
		{"migrate", "", "bring the database to this program's schema, or to another for an older program", "", migrate},
		{"backup", "FILE", "write everything to a new file; - is standard output", "", plain(configured(backup))},
		{"restore", "FILE", "fill an empty database from such a file; - is standard input", "", plain(configured(restore))},
		{"verify", "FILE", "check an exported study (export -json) offline; - is standard input", "", plain(verify)},
		{"simulate", "", "play an algorithm on a test problem with a known optimum", simulateHelp, simulate},
		{"rehearse", "", "play whole studies of a table or problem whose truth is known, and judge them", rehearseHelp, rehearse},
		{"judge", "", "play the standard set of rehearsals and print one table", judgeHelp, judge},
		{"bench", "", "measure this machine: how long asks, tells and readouts take, in ms and in Cholesky factors", benchHelp, benchmark},
		{"studies", "[WORD …]", "list the studies that have each word: id, state, trials, how many wait, name; with -json all of each", remoteHelp, studiesRemote},
		{"ask", "STUDY [SETTING=VALUE …]", "ask a running server for the next trial; temperature=40 holds that setting, and the others are chosen", remoteHelp, askRemote},
		{"tell", "STUDY NUMBER METRIC=VALUE …", "say what came out, as in yield=71.2 impurity=0.31±0.02", remoteHelp, tellRemote},
		{"fail", "STUDY NUMBER REASON", "say that a trial failed: because of its settings, or with -chance by chance", remoteHelp, failRemote},
		{"import", "STUDY FILE", "import a CSV, each row a trial, or with -by-number what came of trials that are there; - is standard input", remoteHelp, importRemote},
		{"export", "STUDY", "write the study's trials as CSV, with -json the study with its ledger", remoteHelp, exportRemote},
		{"watch", "STUDY", "write a line for each event, and for new ones as they come", remoteHelp, watchRemote},
		{"health", "", "ask the running server whether it is ready", "It asks the server at HEADROOM_URL, or at HEADROOM_LISTEN on this machine.", plain(configured(health))},
		{"completion", "bash|zsh|fish", "print the completion of commands and flags for bash, zsh or fish", completionHelp, plain(completion)},
		{"version", "", "print which build this is", "", plain(func(context.Context, []string) error { return say(version) })},
		{"help", "[COMMAND]", "print this, or a command's own help, as COMMAND -h does", "", plain(help)},
	}
}

const overview = `
“headroom COMMAND -h” has each command's own help and flags.

Settings come from the environment:
  HEADROOM_LISTEN           address to listen on (127.0.0.1:8080)
  HEADROOM_PUBLIC_URL       where people reach the server (http://HEADROOM_LISTEN)
  HEADROOM_DATABASE_URL     a PostgreSQL to use; without it a private one runs in the data folder
  HEADROOM_DATABASE_WAIT    how long a starting program waits for that PostgreSQL to answer (30s)
  HEADROOM_DATA_DIR         the data folder (./data; for root /var/lib/headroom where PostgreSQL's user cannot enter ./data)
  HEADROOM_ADMIN_TOKEN      the first admin's API token (else made once, in the file admin-token of the data folder)
  HEADROOM_URL              the server that studies, ask, tell, fail, import, export, watch and health talk to (else the one of this machine)
  HEADROOM_TOKEN            the API token that they send (else, on the server's own machine, the file admin-token)
  HEADROOM_TLS_CERT, _KEY   files of a certificate and its key, to serve https
  HEADROOM_TRUSTED_PROXIES  networks whose X-Forwarded-For is believed, as in 10.0.0.0/8,192.168.1.7/32
`

func help(_ context.Context, args []string) error {
	if len(args) > 0 {
		one, err := findCommand(args[0])
		if err != nil {
			return err
		}
		return say(one.help())
	}
	var out bytes.Buffer
	width := 0
	for _, one := range commands() {
		width = max(width, utf8.RuneCountInString(one.usage()))
	}
	fmt.Fprint(&out, "headroom: experiments under limits, one decision after another\n\n")
	for _, one := range commands() {
		fmt.Fprintf(&out, "  headroom %-*s   %s\n", width, one.usage(), one.does)
	}
	return say(out.String() + overview)
}

func findCommand(name string) (command, error) {
	one, there := lists.Find(commands(), func(one command) bool { return one.name == name })
	if !there {
		return one, fmt.Errorf("there is no command %q: see “headroom help”", name)
	}
	return one, nil
}

func (one command) usage() string {
	return strings.TrimSpace(one.name + " " + one.takes)
}

func (one command) flags() (*flag.FlagSet, action) {
	set := flag.NewFlagSet(one.name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {} // “-h” is answered by perform
	return set, one.ready(set)
}

func (one command) help() string {
	set, _ := one.flags()
	var out, flags bytes.Buffer
	set.SetOutput(&flags)
	set.PrintDefaults()
	fmt.Fprintf(&out, "headroom %s\n\n%s%s.\n", one.usage(), strings.ToUpper(one.does[:1]), one.does[1:])
	if one.more != "" {
		fmt.Fprintf(&out, "\n%s\n", one.more)
	}
	if flags.Len() > 0 {
		fmt.Fprintf(&out, "\nFlags:\n%s", flags.String())
	}
	return out.String()
}

// perform reads the command's flags, which may stand before, between or after its arguments, and
// does its work.
func (one command) perform(ctx context.Context, args []string) error {
	set, do := one.flags()
	var plain []string
	for {
		if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
			return say(one.help())
		} else if err != nil {
			return fmt.Errorf("%s: %s: see “headroom %s -h”", one.name, strings.TrimSuffix(err.Error(), ": parse error"), one.name)
		}
		if set.NArg() == 0 {
			break
		}
		plain, args = append(plain, set.Arg(0)), set.Args()[1:]
	}
	if least, most := one.argumentRange(); len(plain) < least || len(plain) > most {
		return fmt.Errorf("the command is “headroom %s”, and flags begin with -: see “headroom %s -h”", one.usage(), one.name)
	}
	return do(ctx, plain)
}

func (one command) argumentRange() (least, most int) {
	repeated := strings.Contains(one.takes, "…")
	needed, optional, _ := strings.Cut(strings.ReplaceAll(one.takes, "…", ""), "[")
	least = len(strings.Fields(needed))
	if repeated {
		return least, math.MaxInt
	}
	return least, least + len(strings.Fields(optional))
}

// link prints a sign-in link, for an admin without a session or a server without a terminal.
func link(ctx context.Context, c config, _ []string) error {
	return withStore(ctx, c, func(store *db.DB) error {
		return awaitDatabase(ctx, c, func() error {
			first, err := store.Accounts.EnsureAdmin(ctx)
			if err != nil {
				return err
			}
			return printLink(ctx, store, first, c.public(c.listen))
		})
	})
}

func token(set *flag.FlagSet) action {
	name := set.String("name", "script", "what the ledger calls it")
	role := set.String("role", string(account.Operator), "admin, operator or viewer")
	var studyID *string
	nonEmptyFlag(set, "study", "the only study it may see; absent: every study", func(id string) { studyID = &id })
	days := set.Int("days", 0, "days that it lasts; 0 = until revoked")
	return configured(func(ctx context.Context, c config, _ []string) error {
		want := account.NewToken{Name: *name, Role: account.Role(*role), StudyID: studyID}
		if *days != 0 {
			want.ExpiresAt = new(time.Now().AddDate(0, 0, *days))
		}
		return withStore(ctx, c, func(store *db.DB) error {
			_, secret, err := store.Accounts.CreateToken(ctx, theServer, want)
			if wrong, is := errors.AsType[*account.Invalid](err); is {
				return fmt.Errorf("-%s: %s", cmp.Or(tokenFlags[wrong.Field], wrong.Field), wrong.Message)
			}
			if err != nil {
				return err
			}
			return say(secret)
		})
	})
}

// tokenFlags are the flags with other names than the fields they fill.
var tokenFlags = map[string]string{"study_id": "study", "expires_at": "days"}

// nonEmptyFlag declares a flag that restricts what a command reaches. An empty value, as of a
// variable that was never set, is refused: it would pass for a flag that was left out.
func nonEmptyFlag(set *flag.FlagSet, name, usage string, to func(text string)) {
	set.Func(name, usage, func(text string) error {
		if text == "" {
			return errors.New("it is empty; leave it out, or give a value")
		}
		to(text)
		return nil
	})
}

func migrate(set *flag.FlagSet) action {
	target := set.Uint("to", 0, "the schema to go to, up or down; 0 = this program's. The file of a step down says what it drops")
	return configured(func(ctx context.Context, c config, _ []string) error {
		return withDatabase(ctx, c, anyCopys, func(url string) error {
			if *target == 0 {
				return db.Migrate(ctx, url)
			}
			return db.MigrateTo(ctx, url, *target)
		})
	})
}

// standardStream stands for standard output or input in place of a file's name: a container's file
// system is read-only.
const standardStream = "-"

func openFile(name string) (io.ReadCloser, error) {
	if name == standardStream {
		return os.Stdin, nil
	}
	return os.Open(name)
}

// fromFile returns what read makes of a file or of standard input.
func fromFile[T any](name string, read func(io.Reader) (T, error)) (content T, err error) {
	file, err := openFile(name)
	if err != nil {
		return content, err
	}
	defer file.Close()
	if content, err = read(file); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return content, err
}

// backup writes everything to a file that must not exist yet, whole or not at all, or to standard
// output.
func backup(ctx context.Context, c config, args []string) error {
	path := args[0]
	create := func(write func(draft io.Writer) error) error {
		if err := files.CreateWhole(path, write); err != nil {
			return err
		}
		return say("Wrote " + path)
	}
	if path == standardStream {
		create = func(write func(draft io.Writer) error) error { return write(os.Stdout) }
	} else if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already: name a new file", path)
	}
	return withStore(ctx, c, func(store *db.DB) error {
		var damaged []string
		err := create(func(draft io.Writer) (err error) {
			damaged, err = store.Backup(ctx, draft)
			return err
		})
		if err == nil && len(damaged) > 0 {
			err = fmt.Errorf("the backup has everything, but “headroom restore” will refuse it, as the database is damaged: keep the backups before it. %s", strings.Join(damaged, "; "))
		}
		return err
	})
}

func restore(ctx context.Context, c config, args []string) error {
	file, err := openFile(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	return withDatabase(ctx, c, anyCopys, func(url string) error {
		if err := db.Restore(ctx, url, file); err != nil {
			return err
		}
		return say("Restored everything: every ledger is intact")
	})
}

// verify checks an exported study without a server or a database.
func verify(ctx context.Context, args []string) error {
	text, err := fromFile(args[0], func(file io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(file, study.LargestBundle+1)) })
	if err != nil {
		return err
	}
	if len(text) > study.LargestBundle {
		return fmt.Errorf("%s is larger than %d MiB", args[0], study.LargestBundle>>20)
	}
	found, err := study.VerifyBundle(ctx, text)
	if err != nil {
		return err
	}
	report, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	if err := say(string(report)); err != nil {
		return err
	}
	if !found.OK {
		return fmt.Errorf("%s does not verify: ledger intact: %t, numbers that differ: %d", args[0], found.LedgerIntact, len(found.Different))
	}
	return nil
}

const completionHelp = `bash:  source <(headroom completion bash)
zsh:   source <(headroom completion zsh)      after compinit
fish:  headroom completion fish | source

Put the line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.`

func completion(_ context.Context, args []string) error {
	switch args[0] {
	case "bash":
		return say(bashScript())
	case "zsh":
		return say("autoload -U +X bashcompinit && bashcompinit\n" + bashScript())
	case "fish":
		return say(fishScript())
	}
	return fmt.Errorf("there is completion for bash, zsh and fish, not for %q", args[0])
}

// eachFlag visits the command's flags, including the one for help.
func (one command) eachFlag(visit func(name, usage string)) {
	set, _ := one.flags()
	set.VisitAll(func(f *flag.Flag) { visit(f.Name, f.Usage) })
	visit("help", "its own help")
}

// choices returns the words that the command's first argument is one of, nil if it may be anything.
func (one command) choices() []string {
	switch {
	case one.name == "help":
		return names()
	case strings.Contains(one.takes, "|"):
		return strings.Split(one.takes, "|")
	}
	return nil
}

func names() []string {
	return lists.Map(commands(), func(one command) string { return one.name })
}

func bashScript() string {
	var cases bytes.Buffer
	for _, one := range commands() {
		words := one.choices()
		one.eachFlag(func(name, _ string) { words = append(words, "-"+name) })
		fmt.Fprintf(&cases, "\t%s) words='%s' ;;\n", one.name, strings.Join(words, " "))
	}
	return `_headroom() {
	local words=''
	case "${COMP_WORDS[1]}" in
` + cases.String() + `	esac
	[ "$COMP_CWORD" -gt 1 ] || words='` + strings.Join(names(), " ") + `'
	COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _headroom headroom
`
}

func fishScript() string {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	var out bytes.Buffer
	for _, one := range commands() {
		fmt.Fprintf(&out, "complete -c headroom -n __fish_use_subcommand -f -a %s -d '%s'\n", one.name, quoted.Replace(one.does))
		if choices := one.choices(); choices != nil {
			fmt.Fprintf(&out, "complete -c headroom -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", one.name, strings.Join(choices, " "))
		}
		one.eachFlag(func(name, usage string) {
			fmt.Fprintf(&out, "complete -c headroom -n '__fish_seen_subcommand_from %s' -o %s -d '%s'\n", one.name, name, quoted.Replace(usage))
		})
	}
	return out.String()
}
