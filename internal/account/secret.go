package account

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
)

// SecretPrefix lets people and secret scanners recognise what they found.
const SecretPrefix = "headroom_"

// NewSecret returns a new credential: 130 random bits as text that is safe in URLs, headers and
// cookies.
func NewSecret() string { return SecretPrefix + rand.Text() }

// NewID returns a new identifier, which need not be secret.
func NewID() string { return strings.ToLower(rand.Text())[:16] }

// Hash is all that is stored of a secret. A fast hash is enough: secrets are random, there is
// nothing to guess.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
