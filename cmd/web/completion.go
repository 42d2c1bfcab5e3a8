package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
)

const completionHelp = `bash:  source <(headroom completion bash)
zsh:   source <(headroom completion zsh)      after compinit
fish:  headroom completion fish | source

The line goes into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.`

// completion prints a shell's script: the commands, each with its flags, and files for everything
// else.
func completion(_ context.Context, args []string) error {
	script := map[string]func() string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[args[0]]
	if script == nil {
		return fmt.Errorf("there is completion for bash, zsh and fish, not for %q", args[0])
	}
	_, err := fmt.Fprint(os.Stdout, script())
	return err
}

// eachFlag visits the command's flags, and the one for help, which all have.
func (one command) eachFlag(visit func(name, usage string)) {
	set, _ := one.flags()
	set.VisitAll(func(f *flag.Flag) { visit(f.Name, f.Usage) })
	visit("help", "its own help")
}

// choices are the words that the command's first argument is one of; none where it may be anything.
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
	var all []string
	for _, one := range commands() {
		all = append(all, one.name)
	}
	return all
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

func zshScript() string {
	return "autoload -U +X bashcompinit && bashcompinit\n" + bashScript()
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
