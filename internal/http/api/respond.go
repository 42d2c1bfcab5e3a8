package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

)

// writeJSON answers with value. It is rendered whole before a byte is sent, so that a failure can still be told.
func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// etag is the strong entity tag of a study's version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// unchanged sets the ETag of what is about to be read and, when the caller has it already, answers 304.
func unchanged(w http.ResponseWriter, r *http.Request, version int64) bool {
	tag := etag(version)
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	for _, have := range strings.Split(r.Header.Get("If-None-Match"), ",") {
		if have = strings.TrimPrefix(strings.TrimSpace(have), "W/"); have == tag || have == "*" {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}
