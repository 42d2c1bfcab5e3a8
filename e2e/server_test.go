package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/testwait"
)

const adminToken = "headroom_E2EADMINTOKENE2EADMINTOKE"

// server is the program serving, with a private PostgreSQL of its own.
type server struct {
	folder, address, base string
	process               *exec.Cmd
	log                   *os.File
}

// start runs the program in folder, at a free port, and waits until it is ready.
func start(folder string) (*server, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		return nil, err
	}
	address, err := free()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(folder+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	s := &server{folder: folder, address: address, base: "http://" + address, log: log}
	return s, s.run()
}

// free is an address at which nobody listens. Its port is below those that systems give to whoever
// connects (from 32768 on): nothing takes it before the server does, or while that restarts.
func free() (address string, err error) {
	for range 100 {
		address = fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))
		listener, refused := net.Listen("tcp", address)
		if err = refused; err == nil {
			return address, listener.Close()
		}
	}
	return "", err
}

func (s *server) environment() []string {
	return append(os.Environ(), "HEADROOM_LISTEN="+s.address, "HEADROOM_PUBLIC_URL="+s.base, "HEADROOM_DATA_DIR="+s.folder, "HEADROOM_ADMIN_TOKEN="+adminToken, "HEADROOM_DATABASE_URL=")
}

// run starts the process, also again after stop.
func (s *server) run() error {
	s.process = exec.Command(program, "serve")
	s.process.Env, s.process.Stdout, s.process.Stderr = s.environment(), s.log, s.log
	if err := s.process.Start(); err != nil {
		return err
	}
	err := eventually(func() error {
		answer, err := http.Get(s.base + "/readyz")
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz answers %s", answer.Status)
		}
		return nil
	})
	if err != nil {
		s.stop()
		log, _ := os.ReadFile(s.folder + ".log")
		return fmt.Errorf("the server did not become ready: %w\n%s", err, log)
	}
	return nil
}

func (s *server) stop() error {
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	s.process.Wait()
	return nil
}

var signInLink = regexp.MustCompile(`http\S+/sign-in/\S+`)

// link makes a sign-in link for the admin, as somebody at the server's terminal would.
func (s *server) link(t *testing.T) string {
	t.Helper()
	command := exec.Command(program, "link")
	command.Env = s.environment()
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("headroom link: %v\n%s", err, out)
	}
	link := signInLink.Find(out)
	if link == nil {
		t.Fatalf("headroom link printed no link:\n%s", out)
	}
	return string(link)
}

// api calls the JSON API as the admin and reads the answer into out, unless that is nil.
func (s *server) api(t *testing.T, method, path string, in, out any) {
	t.Helper()
	body := must.Get(json.Marshal(in))(t)
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Timeout)
	defer cancel()
	request := must.Get(http.NewRequestWithContext(ctx, method, s.base+"/api/v1"+path, bytes.NewReader(body)))(t)
	request.Header.Set("Authorization", "Bearer "+adminToken)
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	} else {
		request.Body = http.NoBody
	}
	answer := must.Get(http.DefaultClient.Do(request))(t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(t)
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s answers %s: %s", method, path, answer.Status, text)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
}

// eventually tries until check succeeds or the time is up, and returns the last failure.
func eventually(check func() error) error {
	deadline := time.NewTimer(testwait.Timeout)
	defer deadline.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-deadline.C:
			return err
		case <-again.C:
		}
	}
}
