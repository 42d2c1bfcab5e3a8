package http

import (
	"net/http"
	"time"
)

// The cookies: a person's session, a share link's study, and a device on which people come back by PIN. A person who opens a share link keeps their session.
const (
	sessionCookie = "headroom"
	shareCookie   = "headroom-share"
	deviceCookie  = "headroom-device"
)

// cookieName adds the prefix by which browsers keep a cookie from being set by plain HTTP or another host.
func (s *Server) cookieName(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name
}

// setCookie gives the browser a credential until expires.
func (s *Server) setCookie(w http.ResponseWriter, name, secret string, expires time.Time) {
	http.SetCookie(w, &http.Cookie{
		Name:     s.cookieName(name),
		Value:    secret,
		Path:     "/",
		Expires:  expires,
		HttpOnly: true,
		Secure:   s.secure,
		SameSite: http.SameSiteLaxMode,
	})
}

// dropCookie makes the browser forget a credential.
func (s *Server) dropCookie(w http.ResponseWriter, name string) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(name), Path: "/", MaxAge: -1, HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode})
}
