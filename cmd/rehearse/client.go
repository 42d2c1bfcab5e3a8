package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// client speaks to the server's API.
type client struct{ base, token string }

func (c client) post(path, contentType string, body []byte, answer any) error {
	request, err := http.NewRequest(http.MethodPost, c.base+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("POST %s answered %s: %s", path, response.Status, data)
	}
	return json.Unmarshal(data, answer)
}

func (c client) postJSON(path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.post(path, "application/json", data, answer)
}

func (c client) createStudy(definition map[string]any) (string, error) {
	var study struct {
		ID string `json:"id"`
	}
	err := c.postJSON("/studies", definition, &study)
	return study.ID, err
}

func (c client) importRows(id string, rows []byte) error {
	var ignored json.RawMessage
	return c.post("/studies/"+id+"/import?ignore_unknown=true", "text/csv", rows, &ignored)
}

// ask returns the number of the next trial and the index of its candidate.
func (c client) ask(id string) (number, candidate int, err error) {
	var answer struct {
		Trials []struct {
			Number    int  `json:"number"`
			Candidate *int `json:"candidate"`
		} `json:"trials"`
	}
	if err := c.postJSON("/studies/"+id+"/ask", map[string]any{"count": 1}, &answer); err != nil {
		return 0, 0, err
	}
	if len(answer.Trials) != 1 || answer.Trials[0].Candidate == nil {
		return 0, 0, fmt.Errorf("ask did not answer with one of the candidates")
	}
	return answer.Trials[0].Number, *answer.Trials[0].Candidate, nil
}

func (c client) tell(id string, number int, readings map[string]float64) error {
	var ignored json.RawMessage
	return c.postJSON(fmt.Sprintf("/studies/%s/trials/%d/tell", id, number), map[string]any{"metrics": readings}, &ignored)
}
