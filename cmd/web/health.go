package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"
)

// health asks the server at HEADROOM_URL, or on HEADROOM_LISTEN as a container's health check does, whether it is ready.
func health(ctx context.Context, c config, _ []string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	c.publicURL = ""
	address := c.server()
	// Asked on this machine, the certificate names another host than the one we ask.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: c.serverURL == ""}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return hinted(address, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server says %s", response.Status)
	}
	return say("ready")
}
