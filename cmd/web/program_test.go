package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/db/pglocal"
	"headroom/internal/must"
	"headroom/internal/testwait"
)

// asProgram tells this test binary to be the program itself.
const asProgram = "HEADROOM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program prepares the program with a data folder and further settings.
func program(t *testing.T, folder string, settings []string, args ...string) *exec.Cmd {
	t.Helper()
	self := must.Get(os.Executable())(t)
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Timeout)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	// The race detector would have each of many programs wait a second at its end for races yet to
	// come.
	cmd.Env = append([]string{asProgram + "=1", "GORACE=atexit_sleep_ms=20", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		"HEADROOM_LISTEN=127.0.0.1:0", "HEADROOM_DATA_DIR=" + folder}, settings...)
	return cmd
}

// output runs the program to its end.
func output(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// running is a server under test.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	link string // to sign in
}

// serving starts a server and waits until it answers.
func serving(t *testing.T, folder string, settings ...string) *running {
	t.Helper()
	short := program(t, folder, settings, "-print-link")
	r := &running{t: t, cmd: exec.CommandContext(t.Context(), short.Path, short.Args[1:]...)} // as long as the test lasts
	r.cmd.Env = short.Env
	said := must.Get(r.cmd.StdoutPipe())(t)
	logged := must.Get(r.cmd.StderrPipe())(t)
	must.Do(t, r.cmd.Start())
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	lines := bufio.NewScanner(logged)
	for r.url == "" && lines.Scan() {
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			r.url = line.URL
		} else if strings.HasPrefix(lines.Text(), "headroom: ") {
			t.Fatal(lines.Text())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, logged) }()
	words := bufio.NewScanner(said)
	for r.link == "" && words.Scan() {
		if _, link, found := strings.Cut(words.Text(), "http"); found {
			r.link = "http" + link
		}
	}
	if r.url == "" || r.link == "" {
		t.Fatalf("it serves at %q and prints the link %q", r.url, r.link)
	}
	return r
}

// get asks with the admin token of the folder.
func (r *running) get(folder, path string) (int, string) {
	r.t.Helper()
	token, err := os.ReadFile(filepath.Join(folder, "admin-token"))
	if err != nil {
		r.t.Fatal(err)
	}
	return r.send(http.MethodGet, path, strings.TrimSpace(string(token)), "")
}

func (r *running) send(method, path, token, body string, headers ...string) (int, string) {
	r.t.Helper()
	status, text, err := r.try(http.DefaultClient, method, path, token, body, headers...)
	if err != nil {
		r.t.Fatal(err)
	}
	return status, text
}

// try asks once, with the headers that are not empty.
func (r *running) try(client *http.Client, method, path, token, body string, headers ...string) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	headers = append(headers, "Authorization", "Bearer "+token, "Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return response.StatusCode, string(read), err
}

// interrupt is Ctrl-C; the program must end well.
func (r *running) interrupt() { r.t.Helper(); r.end(os.Interrupt) }

func (r *running) end(by os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(by); err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		r.t.Fatal(err)
	}
}

const newStudy = `{"name": "kept", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "y", "direction": "maximize"}}`

// The life of a server: first start, kill -9, start again, backup while it runs, orderly stop,
// restore elsewhere.
func TestServerKeepsWhatItWasTold(t *testing.T) {
	t.Parallel()
	folder := dbtest.Folder(t)
	first := serving(t, folder)
	if status, _ := first.get(folder, "/api/v1/studies"); status != http.StatusOK {
		t.Fatalf("the kept admin token got %d", status)
	}
	if info, err := os.Stat(filepath.Join(folder, "admin-token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the admin token's file: %v, %v", info, err)
	}
	if response, err := http.Get(first.link); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the sign-in link: %v, %v", response, err)
	}
	token, _ := must.Get2(output(t, program(t, folder, nil, "token", "-name", "robot", "-role", "operator")))(t)
	token = strings.TrimSpace(token)
	if status, text := first.send(http.MethodPost, "/api/v1/studies", token, newStudy); status != http.StatusCreated {
		t.Fatalf("creating got %d: %s", status, text)
	}
	if _, complaint, err := output(t, program(t, folder, nil)); err == nil || !isOneLine(complaint, "in use by another copy of headroom: wait until") {
		t.Fatalf("a second copy said %q, %v", complaint, err)
	}
	must.Do(t, first.cmd.Process.Kill())
	_ = first.cmd.Wait() // killed

	second := serving(t, folder)
	if status, text := second.get(folder, "/api/v1/studies"); status != http.StatusOK || !strings.Contains(text, `"kept"`) {
		t.Fatalf("after kill -9 the studies are %d: %s", status, text)
	}
	file := filepath.Join(t.TempDir(), "backup.gz")
	if _, complaint, err := output(t, program(t, folder, nil, "backup", file)); err != nil {
		t.Fatal(complaint, err)
	}
	if _, complaint, err := output(t, program(t, folder, nil, "restore", file)); err == nil || !strings.Contains(complaint, "not empty") {
		t.Fatalf("restoring over data said %q, %v", complaint, err)
	}
	stream, complaint, err := output(t, program(t, folder, nil, "backup", "-"))
	if err != nil {
		t.Fatal(complaint, err)
	}
	second.interrupt()

	fromFile, other := dbtest.Folder(t), dbtest.Folder(t)
	if _, complaint, err := output(t, program(t, fromFile, nil, "restore", file)); err != nil {
		t.Fatal(complaint, err)
	}
	restoring := program(t, other, nil, "restore", "-")
	restoring.Stdin = strings.NewReader(stream)
	if _, complaint, err := output(t, restoring); err != nil {
		t.Fatal(complaint, err)
	}
	third := serving(t, other, "HEADROOM_ADMIN_TOKEN=a secret of my own choosing")
	if status, text := third.send(http.MethodGet, "/api/v1/studies", "a secret of my own choosing", ""); status != http.StatusOK || !strings.Contains(text, `"kept"`) {
		t.Fatalf("after restoring the studies are %d: %s", status, text)
	}
	if status, _ := third.send(http.MethodGet, "/api/v1/studies", token, ""); status != http.StatusOK {
		t.Fatalf("after restoring the robot's token got %d", status)
	}
	if _, err := os.Stat(filepath.Join(other, "admin-token")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a token that was given must not be kept: %v", err)
	}
	third.end(syscall.SIGHUP) // as of a terminal that is closed
	if err := syscall.Kill(third.cmd.Process.Pid, 0); err == nil {
		t.Fatal("it is still there")
	}
}

// TestALinkBeforeTheFirstStart: of a database that no server has served a link signs in the first
// admin, too.
func TestALinkBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	settings := []string{"HEADROOM_DATABASE_URL=" + ownDatabase(t)}
	text, complaint, err := output(t, program(t, dbtest.Folder(t), settings, "link"))
	if err != nil {
		t.Fatal(complaint)
	}
	server := serving(t, dbtest.Folder(t), settings...)
	_, link, _ := strings.Cut(strings.TrimSpace(text), "/sign-in/")
	if response, err := http.Get(server.url + "/sign-in/" + link); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%q: %v, %v", text, response, err)
	}
	server.interrupt()
}

// TestABackupOfADamagedLedgerEndsBadly: whatever runs it at night notices, and has the file all the same.
func TestABackupOfADamagedLedgerEndsBadly(t *testing.T) {
	t.Parallel()
	url := ownDatabase(t)
	must.Do(t, db.Migrate(t.Context(), url))
	somebody := must.Get(pgx.Connect(t.Context(), url))(t)
	must.Get(somebody.Exec(t.Context(), `INSERT INTO studies VALUES ('one', 'kept', 'open', 'log-cei', 1, '', now(), now(), 0, 0, NULL, 0, 0, NULL, '[]', '', '')`))(t)
	must.Do(t, somebody.Close(t.Context()))
	settings, file := []string{"HEADROOM_DATABASE_URL=" + url}, filepath.Join(t.TempDir(), "backup.gz")
	for _, where := range []string{file, "-"} {
		_, complaint, err := output(t, program(t, dbtest.Folder(t), settings, "backup", where))
		if err == nil || !isOneLine(complaint, "keep the backups before it. study one: the ledger is empty") {
			t.Errorf("to %s: %v, it said %q", where, err, complaint)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// A server that is started before its database waits for it, and so does a command beside it.
func TestProgramsWaitForTheirDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, says []string }{
		"server": {nil, []string{os.Args[0] + " link", "serving"}}, // nobody sees its output, so it says how to get a link
		"link":   {[]string{"link"}, []string{"/sign-in/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := must.Get(url.Parse(ownDatabase(t)))(t)
			query, later := database.Query(), dbtest.Folder(t) // where it will be
			socket := ".s.PGSQL." + query.Get("port")
			there := filepath.Join(query.Get("host"), socket)
			query.Set("host", later)
			database.RawQuery = query.Encode()
			early := program(t, dbtest.Folder(t), []string{"HEADROOM_DATABASE_URL=" + database.String()}, c.args...)
			said := must.Get(early.StderrPipe())(t)
			early.Stdout = early.Stderr
			must.Do(t, early.Start())
			t.Cleanup(func() { _ = early.Process.Kill() })
			lines := bufio.NewScanner(said)
			await := func(text string) {
				t.Helper()
				for lines.Scan() {
					if strings.Contains(lines.Text(), text) {
						return
					}
					if strings.HasPrefix(lines.Text(), "headroom: ") {
						t.Fatal(lines.Text())
					}
				}
				t.Fatalf("it never said %q", text)
			}
			await("cannot be reached yet; asking again")
			must.Do(t, os.Symlink(there, filepath.Join(later, socket)))
			for _, text := range c.says {
				await(text)
			}
		})
	}
}

// TestProgramsWaitForADatabaseThatHangs: also what a starting server, or a command, writes first is begun
// again until the database takes it.
func TestProgramsWaitForADatabaseThatHangs(t *testing.T) {
	t.Parallel()
	url, ctx := ownDatabase(t)+"&lock_timeout=100", t.Context()
	must.Do(t, db.Migrate(ctx, url))
	hang := func() {
		somebody := must.Get(pgx.Connect(ctx, url))(t)
		must.Get(somebody.Exec(ctx, `BEGIN; LOCK TABLE credentials`))(t)
		time.AfterFunc(2*time.Second, func() { _ = somebody.Close(ctx) })
	}
	hang()
	serving(t, dbtest.Folder(t), "HEADROOM_DATABASE_URL="+url).interrupt()
	hang()
	if text, complaint, err := output(t, program(t, dbtest.Folder(t), []string{"HEADROOM_DATABASE_URL=" + url}, "link")); err != nil || !strings.Contains(text, "/sign-in/") {
		t.Errorf("%v: it said %q and %q", err, text, complaint)
	}
}

// A server with a certificate serves https. On its own machine the name in that does not matter to
// its health; to whoever names the server it does. One that is renewed is shown from then on, when it
// does.
func TestServesWithACertificate(t *testing.T) {
	t.Parallel()
	folder, files := dbtest.Folder(t), t.TempDir()
	cert, key := filepath.Join(files, "CERT"), filepath.Join(files, "KEY")
	settings := []string{"HEADROOM_TLS_CERT=" + cert, "HEADROOM_TLS_KEY=" + key}
	issue := func(serial int64) {
		t.Helper()
		public, private, err := ed25519.GenerateKey(nil)
		must.Do(t, err)
		made := x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"example.org"}, NotAfter: time.Now().Add(time.Hour)}
		for file, block := range map[string]*pem.Block{
			cert: {Type: "CERTIFICATE", Bytes: must.Get(x509.CreateCertificate(nil, &made, &made, public, private))(t)},
			key:  {Type: "PRIVATE KEY", Bytes: must.Get(x509.MarshalPKCS8PrivateKey(private))(t)},
		} {
			must.Do(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
		}
	}
	issue(1)
	server := serving(t, folder, settings...)
	address, secure := strings.CutPrefix(server.url, "https://")
	if !secure || !strings.HasPrefix(server.link, server.url) {
		t.Errorf("it serves at %s, and its link is %s", server.url, server.link)
	}
	if said, complaint, err := output(t, program(t, folder, append(settings, "HEADROOM_LISTEN="+address), "health")); err != nil || said != "ready\n" {
		t.Errorf("health on its own machine said %s %s", said, complaint)
	}
	if _, complaint, err := output(t, program(t, folder, []string{"HEADROOM_URL=" + server.url}, "health")); err == nil || !isOneLine(complaint, "certificate") {
		t.Errorf("health of a server whose certificate nobody knows said %q", complaint)
	}
	shows := func() int64 {
		t.Helper()
		conn := must.Get(tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}))(t)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	issue(2)
	if got := shows(); got != 2 {
		t.Errorf("after it was renewed it shows certificate %d", got)
	}
	must.Do(t, os.WriteFile(cert, nil, 0o600))
	if got := shows(); got != 2 {
		t.Errorf("while the new one does not do it shows certificate %d", got)
	}
	must.Do(t, os.Remove(key))
	if got := shows(); got != 2 {
		t.Errorf("while the new one's key is not there it shows certificate %d", got)
	}
	issue(3)
	if got := shows(); got != 3 {
		t.Errorf("when the new one does it shows certificate %d", got)
	}
	server.interrupt()
}

// ownDatabase is the URL of a PostgreSQL of the test's own.
func ownDatabase(t *testing.T) string {
	t.Helper()
	server := must.Get(pglocal.Start(t.Context(), dbtest.Folder(t)))(t)
	t.Cleanup(server.Stop)
	return server.URL
}

func TestWrongStartsSayWhyInOneLine(t *testing.T) {
	t.Parallel()
	busy := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer busy.Close()
	oldCluster := dbtest.Folder(t)
	must.Do(t, os.MkdirAll(filepath.Join(oldCluster, "postgres"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(oldCluster, "postgres", "PG_VERSION"), []byte("9\n"), 0o600))
	for name, c := range map[string]struct {
		folder   string
		settings []string
		args     []string
		says     string
	}{
		"busy port":        {settings: []string{"HEADROOM_LISTEN=" + busy.Addr().String()}, says: "in use by another program"},
		"no server":        {settings: []string{"HEADROOM_DATABASE_WAIT=0s", "HEADROOM_DATABASE_URL=postgres://me:hunter2@127.0.0.1:1/db"}, says: "start the database, or say in HEADROOM_DATABASE_URL where it runs"},
		"no URL":           {settings: []string{"HEADROOM_DATABASE_URL=nonsense"}, says: "HEADROOM_DATABASE_URL"},
		"no wait":          {settings: []string{"HEADROOM_DATABASE_WAIT=soon"}, says: "HEADROOM_DATABASE_WAIT"},
		"half a key":       {settings: []string{"HEADROOM_TLS_CERT=cert.pem"}, says: "HEADROOM_TLS_KEY"},
		"no certificate":   {settings: []string{"HEADROOM_TLS_CERT=no.pem", "HEADROOM_TLS_KEY=no.pem"}, says: "HEADROOM_TLS_CERT"},
		"no public URL":    {settings: []string{"HEADROOM_PUBLIC_URL=headroom"}, says: "HEADROOM_PUBLIC_URL"},
		"a part of a site": {settings: []string{"HEADROOM_PUBLIC_URL=https://lab.example/headroom", "HEADROOM_DATABASE_URL=nonsense"}, says: "HEADROOM_PUBLIC_URL"},
		"a part of a page": {settings: []string{"HEADROOM_PUBLIC_URL=https://lab.example#studies", "HEADROOM_DATABASE_URL=nonsense"}, says: "HEADROOM_PUBLIC_URL"},
		"somebody's site":  {settings: []string{"HEADROOM_PUBLIC_URL=https://me@lab.example", "HEADROOM_DATABASE_URL=nonsense"}, says: "HEADROOM_PUBLIC_URL"},
		"no server's URL":  {settings: []string{"HEADROOM_URL=headroom"}, args: []string{"health"}, says: "HEADROOM_URL"},
		"nobody there":     {settings: []string{"HEADROOM_URL=http://127.0.0.1:1"}, args: []string{"health"}, says: "no server answers at http://127.0.0.1:1 "},
		"nobody to ask":    {settings: []string{"HEADROOM_URL=http://127.0.0.1:1", "HEADROOM_TOKEN=secret"}, args: []string{"ask", "study"}, says: "start it with “headroom serve”, or say in HEADROOM_URL"},
		"no token":         {settings: []string{"HEADROOM_URL=http://127.0.0.1:1"}, args: []string{"ask", "study"}, says: "HEADROOM_TOKEN"},
		"no address":       {settings: []string{"HEADROOM_LISTEN=8080"}, says: "HEADROOM_LISTEN"},
		"no network":       {settings: []string{"HEADROOM_TRUSTED_PROXIES=10.0.0.0/8,proxy"}, says: "HEADROOM_TRUSTED_PROXIES"},
		"no folder":        {folder: filepath.Join(oldCluster, "postgres", "PG_VERSION"), says: "HEADROOM_DATA_DIR"},
		"another major":    {folder: oldCluster, says: "PostgreSQL 9"},
		"no such command":  {args: []string{"nonsense"}, says: "nonsense"},
		"no such flag":     {args: []string{"serve", "-nonsense"}, says: "nonsense"},
		"missing argument": {args: []string{"backup"}, says: "backup FILE"},
		"missing file":     {args: []string{"verify", "nowhere.json"}, says: "nowhere.json"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := c.folder
			if folder == "" {
				folder = dbtest.Folder(t)
			}
			_, complaint, err := output(t, program(t, folder, c.settings, c.args...))
			if err == nil || !isOneLine(complaint, c.says) || strings.Contains(complaint, "hunter2") {
				t.Fatalf("it said %q, %v", complaint, err)
			}
		})
	}
}

// isOneLine says whether text is one line of the program that contains part.
func isOneLine(text, part string) bool {
	return strings.HasPrefix(text, "headroom: ") && strings.Count(text, "\n") == 1 && strings.Contains(text, part)
}
