// Command headroom (cmd/web) is the whole program: the web server, and the few commands that look after its data.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// version is set by the build.
var version = "development"

const usage = `headroom: experiments under limits, one decision after another

  headroom [serve] [-print-link]   run the server (what is said without a command)
  headroom link                    print a new sign-in link for the first admin
  headroom token -name N -role R   make an API token; -study ID limits it, -days D lets it expire
  headroom migrate                 bring the database to this program's schema; -to N goes to schema N, for an older program
  headroom backup FILE             write everything to one file; - is standard output
  headroom restore FILE            fill an empty database from such a file; - is standard input
  headroom verify FILE             check an exported study (export.json) offline
  headroom simulate -help          play an algorithm on a test problem with a known optimum
  headroom rehearse -help          play whole studies of a table or problem whose truth is known, and judge them
  headroom judge                   play the standard set of rehearsals and print one table; -seeds N, -asks N and -only TEXT shorten it
  headroom ask STUDY               ask a running server for the next trial; -count N for several
  headroom tell STUDY NUMBER METRIC=VALUE …   say what came out, as in yield=71.2 impurity=0.31±0.02; -note TEXT
  headroom export STUDY            write the study's trials as CSV, with -json the study with its ledger
  headroom watch STUDY             write a line for each event, those to come too; -after N starts behind event N
                                   (these four take -json, the server's own answer)
  headroom health                  ask the running server whether it is ready
  headroom version

Settings come from the environment:
  HEADROOM_LISTEN           address to listen on (127.0.0.1:8080)
  HEADROOM_PUBLIC_URL       where people reach the server (http://HEADROOM_LISTEN)
  HEADROOM_DATABASE_URL     a PostgreSQL to use; without it a private one runs in the data folder
  HEADROOM_DATABASE_WAIT    how long a starting server waits for that PostgreSQL to answer (30s)
  HEADROOM_DATA_DIR         the data folder (./data)
  HEADROOM_ADMIN_TOKEN      the first admin's API token (else made once, in the file admin-token of the data folder)
  HEADROOM_TOKEN            the API token that ask, tell, export and watch show (else the file admin-token, where it is)
  HEADROOM_TLS_CERT, _KEY   files of a certificate and its key, to serve https
  HEADROOM_TRUSTED_PROXIES  networks whose X-Forwarded-For is believed, as in 10.0.0.0/8,192.168.1.7/32
`

// commands by name. Each gets the arguments after its name.
var commands = map[string]func(ctx context.Context, c config, args []string) error{
	"serve":    serve,
	"link":     link,
	"token":    token,
	"migrate":  migrate,
	"backup":   backup,
	"restore":  restore,
	"verify":   verify,
	"ask":      askRemote,
	"tell":     tellRemote,
	"export":   exportRemote,
	"watch":    watchRemote,
	"health":   health,
	"judge":    judge,
	"rehearse": rehearse,
	"simulate": simulate,
	"version":  func(context.Context, config, []string) error { return say(version) },
	"help":     func(context.Context, config, []string) error { return say(usage) },
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		// One line, whatever is in it.
		fmt.Fprintln(os.Stderr, "headroom: "+strings.Join(strings.Fields(err.Error()), " "))
		os.Exit(1)
	}
}

func run(args []string) error {
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	} else if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		name = "help"
	}
	command, known := commands[name]
	if !known {
		return fmt.Errorf("there is no command %q: see “headroom help”", name)
	}
	c, err := readConfig(os.Getenv)
	if err != nil {
		return err
	}
	// The first signal asks for an orderly end; after it a second one ends the program at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err = command(ctx, c, args)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

func say(text string) error {
	_, err := fmt.Println(strings.TrimSpace(text))
	return err
}

// flags makes a set that reports faults as errors.
func flags(name string) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return set
}

// parse reads a command's flags, and exactly as many arguments as are named.
func parse(set *flag.FlagSet, args []string, names ...string) error {
	if err := set.Parse(args); err != nil {
		return fmt.Errorf("%s: %w: see “headroom help”", set.Name(), err)
	}
	if set.NArg() != len(names) {
		return fmt.Errorf("it is “headroom %s”: see “headroom help”", strings.Join(append([]string{set.Name()}, names...), " "))
	}
	return nil
}
