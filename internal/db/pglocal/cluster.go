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

// cluster is the files of a private server, and the programs and the user that serve them.
type cluster struct {
	dir  string // the data folder, absolute
	data string // PostgreSQL's own folder in it
	bin  string // folder of initdb and postgres
	as   *syscall.Credential
	user string
}

// ErrUnreachable says that the user whom the server runs as cannot get to the data folder.
var ErrUnreachable = errors.New("is out of reach")

// Usable makes the data folder when it is missing, and says whether a server could run there.
func Usable(dir string) error {
	_, err := openCluster(dir)
	return err
}

// openCluster finds what serves dir, and makes dir when it is missing.
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

// unusable says which setting names a folder that cannot be made or written to.
func unusable(err error) error {
	return fmt.Errorf("HEADROOM_DATA_DIR must be a folder that can be written to: %w", err)
}

// findUser chooses whom the server runs as: this user, or, as PostgreSQL refuses to run as root,
// postgres or nobody.
func (c *cluster) findUser() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr != nil || gidErr != nil {
			continue
		}
		c.as, c.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, name
		return nil
	}
	return errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody: start headroom as another user, or set HEADROOM_DATABASE_URL")
}

// findPrograms chooses the newest PostgreSQL installed, or the one that made the cluster.
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

// installations lists PostgreSQL servers, those on PATH first, then newest first.
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

// newestFirst lists the folders that match pattern, by the first number in each, greatest first.
func newestFirst(pattern string) []string {
	folders, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	number := func(path string) int {
		n, _ := strconv.Atoi(digits.FindString(path))
		return n
	}
	slices.SortStableFunc(folders, func(a, b string) int { return cmp.Compare(number(b), number(a)) })
	return folders
}

var digits = regexp.MustCompile(`\d+`)

// majorOf asks the programs in bin for their major version; "" when they are not all there.
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

// admitUser lets the server's user into the data folder, where it may pass but not look around. The
// folders above are not ours to open.
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
// made when it is missing, for who runs servers of their own there, as tests do. It dies with the
// thread that starts it, and so with this program: who starts it keeps the thread meanwhile.
func Program(ctx context.Context, dir, name string, args ...string) (*exec.Cmd, error) {
	c, err := openCluster(dir)
	if err != nil {
		return nil, err
	}
	cmd := c.command(ctx, name, args...)
	dieWithParent(cmd.SysProcAttr)
	return cmd, nil
}

// command prepares one of PostgreSQL's programs, as the server's user, apart from this program's
// terminal so that Ctrl-C does not reach it.
func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.as}
	return cmd
}

// create makes the cluster when there is none. It is made beside its place and then moved there
// whole, so that an interrupted attempt leaves nothing that looks like a cluster.
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
	if err := c.own(draft); err != nil {
		return err
	}
	password := c.data + ".password" // initdb wants its folder empty
	if err := os.WriteFile(password, []byte(rand.Text()), 0o600); err != nil {
		return err
	}
	if err := c.own(password); err != nil {
		return err
	}
	said, err := c.command(ctx, "initdb", "-D", draft, "--username="+superuser, "--pwfile="+password,
		"--auth-local=scram-sha-256", "--auth-host=reject", "--encoding=UTF8", "--locale=C").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", cmp.Or(ctx.Err(), err), complaint(said))
	}
	if err := os.Rename(password, filepath.Join(draft, "password")); err != nil {
		return err
	}
	return os.Rename(draft, c.data)
}

// complaint is why one of PostgreSQL's programs ended, of what it said: what was last fatal or an error
// there, else its last line.
func complaint(said []byte) string {
	if found := complaints.FindAllSubmatch(said, -1); found != nil {
		return string(found[len(found)-1][1])
	}
	said = bytes.TrimSpace(said)
	return string(said[bytes.LastIndexByte(said, '\n')+1:])
}

var complaints = regexp.MustCompile(`(?m)(?:FATAL|error): +(.*)$`)

// socketPrefix begins the names of socket folders.
const socketPrefix = "headroom-sockets-"

// newSockets makes a folder for the socket, which only the server's user (and root) may enter. Its
// path is short, as paths of sockets must be. A link to it in the data folder finds the one that a
// killed program left, to remove it.
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
	if err := c.own(folder); err != nil {
		return folder, err
	}
	return folder, os.Symlink(folder, link)
}

func (c *cluster) own(path string) error {
	if c.as == nil {
		return nil
	}
	return os.Chown(path, int(c.as.Uid), int(c.as.Gid))
}

// url is how to connect over the socket in folder sockets.
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
