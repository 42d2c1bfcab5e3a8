package static

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"headroom/internal/must"
)

type manifest struct {
	Assets []struct{ File, Package, Version, Licence, SHA256 string }
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	raw := must.Get(files.ReadFile("vendor/manifest.json"))(t)
	var m manifest
	must.Do(t, json.Unmarshal(raw, &m))
	return m
}

func TestVendoredFilesAreThoseOfTheManifest(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{"vendor/manifest.json": true}
	for _, asset := range readManifest(t).Assets {
		content, err := files.ReadFile("vendor/" + asset.File)
		if err != nil {
			t.Errorf("%s is listed but not there: %v", asset.File, err)
			continue
		}
		sum := sha256.Sum256(content)
		if got := hex.EncodeToString(sum[:]); got != asset.SHA256 {
			t.Errorf("%s has SHA-256 %s, the manifest says %s", asset.File, got, asset.SHA256)
		}
		if !strings.Contains(asset.File, asset.Version) {
			t.Errorf("%s does not carry its version %s in its name", asset.File, asset.Version)
		}
		listed["vendor/"+asset.File] = true
		listed["vendor/"+asset.Licence] = true
	}
	must.Do(t, fs.WalkDir(files, "vendor", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !listed[path] {
			t.Errorf("%s is not in the manifest", path)
		}
		return err
	}))
}

func TestURLChangesWithContent(t *testing.T) {
	t.Parallel()
	if a, b := URL("app.css"), URL("icon.svg"); a == b || !strings.HasPrefix(a, "/static/app.css?v=") {
		t.Fatalf("URL(app.css) = %s, URL(icon.svg) = %s", a, b)
	}
}
