package pglocal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"headroom/internal/lists"
)

const (
	superuser  = "headroom"
	socketPort = "5432" // names the socket; nothing listens on TCP
)

// cluster is the files of a private server, with the programs and the user that run it.
type cluster struct {
	dir  string // the data folder, absolute
	data string // PostgreSQL's own folder in it
	bin  string // folder of initdb and postgres
	as   *syscall.Credential
	user string
}

// ErrUnreachable means that the user the server runs as cannot access the data folder.
var ErrUnreachable = errors.New("is out of reach")

// Usable creates the data folder if necessary, and reports whether a server could run there.
func Usable(dir string) error {
	_, err := openCluster(dir)
	return err
}

// openCluster finds the programs and the user for dir, and creates dir if necessary.
func openCluster(dir string) (cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return cluster{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return cluster{}, unusable(err)
	}
	c := cluster{dir: dir, data: filepath.Join(dir, "postgres")}
	if err := c.findUser(); err != nil {
		return c, err
	}
	if err := c.findPrograms(); err != nil {
		return c, err
	}
	return c, c.admitUser()
}

// unusable names the setting of a folder that cannot be created or written to.
func unusable(err error) error {
	return fmt.Errorf("HEADROOM_DATA_DIR must be a folder that can be written to: %w", err)
}

// findUser chooses the user the server runs as: this one or, since PostgreSQL refuses to run as
// root, postgres or nobody.
func (c *cluster) findUser() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.ParseUint(found.Uid, 10, 32) // numbers where there is a root
		gid, _ := strconv.ParseUint(found.Gid, 10, 32)
		c.as, c.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, name
		return nil
	}
	return errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody: start headroom as another user, or set HEADROOM_DATABASE_URL")
}

// findPrograms chooses the PostgreSQL version that made the cluster, or the newest one installed.
func (c *cluster) findPrograms() error {
	wanted, err := os.ReadFile(filepath.Join(c.data, "PG_VERSION"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := strings.TrimSpace(string(wanted))
	installed := installations()
	if len(installed) == 0 {
		return errors.New("no PostgreSQL server is installed: run “apt-get install postgresql” (or “brew install postgresql”), or set HEADROOM_DATABASE_URL")
	}
	for _, one := range installed {
		if made == "" || one.major == made {
			c.bin = one.bin
			return nil
		}
	}
	return fmt.Errorf("%s was made by PostgreSQL %s, but PostgreSQL %s is installed: run “apt-get install postgresql-%s”, or back up with the old one and restore here",
		c.data, made, installed[0].major, made)
}

type installation struct{ bin, major string }

// installations returns the installed PostgreSQL servers, those on PATH first, then newest first.
func installations() []installation {
	var folders []string
	if onPath, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(onPath); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
		"/usr/pgsql-*/bin",          // Fedora, Red Hat
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
	} {
		folders = append(folders, newestFirst(pattern)...)
	}
	return lists.Pick(folders, func(folder string) (installation, bool) {
		major := majorOf(folder)
		return installation{folder, major}, major != ""
	})
}

// newestFirst returns the folders that match pattern, ordered by the first number in each, the
// greatest first.
func newestFirst(pattern string) []string {
	folders, _ := filepath.Glob(pattern) // the patterns are well formed
	number := func(path string) int {
		n, _ := strconv.Atoi(digits.FindString(path))
		return n
	}
	slices.SortStableFunc(folders, func(a, b string) int { return cmp.Compare(number(b), number(a)) })
	return folders
}

var digits = regexp.MustCompile(`\d+`)

// majorOf returns the major version of the programs in bin, "" if one is missing.
func majorOf(bin string) string {
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return ""
	}
	said, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return ""
	}
	return digits.FindString(string(said)) // postgres (PostgreSQL) 17.6
}

// admitUser gives the server's user access to the data folder, to pass through but not to list it.
// The folders above belong to others.
func (c *cluster) admitUser() error {
	if c.as == nil || c.mayEnter() == nil {
		return nil
	}
	info, err := os.Stat(c.dir)
	if err != nil {
		return err
	}
	if err := os.Chown(c.dir, -1, int(c.as.Gid)); err != nil {
		return err
	}
	if err := os.Chmod(c.dir, info.Mode().Perm()|0o010); err != nil {
		return err
	}
	if err := c.mayEnter(); err != nil {
		return fmt.Errorf("PostgreSQL runs as user %s, for whom %s %w: set HEADROOM_DATA_DIR to a folder such as /var/lib/headroom", c.user, c.dir, ErrUnreachable)
	}
	return nil
}

func (c *cluster) mayEnter() error {
	cmd := c.command(context.Background(), "postgres", "--version")
	cmd.Dir = c.dir
	return cmd.Run()
}

// Program prepares one of PostgreSQL's programs as the user of the private server in dir, which is
// created if necessary, for callers that run servers of their own, as tests do. The program dies
// with the thread that starts it, and so with this process: the caller must keep that thread.
func Program(ctx context.Context, dir, name string, args ...string) (*exec.Cmd, error) {
	c, err := openCluster(dir)
	if err != nil {
		return nil, err
	}
	cmd := c.command(ctx, name, args...)
	dieWithParent(cmd.SysProcAttr)
	return cmd, nil
}

// command prepares one of PostgreSQL's programs as the server's user, in its own process group so
// that Ctrl-C does not reach it.
func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.as}
	return cmd
}

// create initialises the cluster if there is none. It is made in a temporary folder and then
// renamed, so that an interrupted attempt leaves nothing that looks like a cluster.
func (c *cluster) create(ctx context.Context) error {
	if _, err := os.Stat(c.data); err == nil {
		return nil
	}
	draft := c.data + ".new"
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	if err := os.Mkdir(draft, 0o700); err != nil {
		return err
	}
	if err := c.chown(draft); err != nil {
		return err
	}
	password := c.data + ".password" // initdb wants its folder empty
	if err := os.WriteFile(password, []byte(rand.Text()), 0o600); err != nil {
		return err
	}
	if err := c.chown(password); err != nil {
		return err
	}
	said, err := c.command(ctx, "initdb", "-D", draft, "--username="+superuser, "--pwfile="+password,
		"--auth-local=scram-sha-256", "--auth-host=reject", "--encoding=UTF8", "--locale=C").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", cmp.Or(ctx.Err(), err), lastError(said))
	}
	if err := os.Rename(password, filepath.Join(draft, "password")); err != nil {
		return err
	}
	return os.Rename(draft, c.data)
}

// lastError returns the reason why one of PostgreSQL's programs ended: the last fatal message or
// error in its output, else the last line.
func lastError(said []byte) string {
	if found := errorLine.FindAllSubmatch(said, -1); found != nil {
		return string(found[len(found)-1][1])
	}
	said = bytes.TrimSpace(said)
	return string(said[bytes.LastIndexByte(said, '\n')+1:])
}

var errorLine = regexp.MustCompile(`(?m)(?:FATAL|error): +(.*)$`)

// socketPrefix begins the names of socket folders.
const socketPrefix = "headroom-sockets-"

// newSockets creates a folder for the socket, which only the server's user (and root) may enter.
// Its path is short, since socket paths must be. A link in the data folder lets a later start
// remove the folder of a killed program.
func (c *cluster) newSockets() (string, error) {
	link := filepath.Join(c.dir, "sockets")
	if old, err := os.Readlink(link); err == nil && strings.HasPrefix(filepath.Base(old), socketPrefix) {
		if err := errors.Join(os.RemoveAll(old), os.Remove(link)); err != nil {
			return "", err
		}
	}
	folder, err := os.MkdirTemp("", socketPrefix)
	if err != nil {
		return "", err
	}
	if err := c.chown(folder); err != nil {
		return folder, err
	}
	return folder, os.Symlink(folder, link)
}

func (c *cluster) chown(path string) error {
	if c.as == nil {
		return nil
	}
	return os.Chown(path, int(c.as.Uid), int(c.as.Gid))
}

// url returns the URL for connecting over the socket in folder sockets.
func (c *cluster) url(sockets string) (string, error) {
	password, err := os.ReadFile(filepath.Join(c.data, "password"))
	if err != nil {
		return "", fmt.Errorf("the private PostgreSQL's password is missing: %w", err)
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, string(bytes.TrimSpace(password))),
		Path:     "/postgres",
		RawQuery: url.Values{"host": {sockets}, "port": {socketPort}, "sslmode": {"disable"}}.Encode(),
	}
	return u.String(), nil
}
