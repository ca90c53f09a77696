package toolsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer bounds what a service may answer.
const maxAnswer = 64 << 20

// newClient makes a client of its own, so that its connections can be closed
// with the plugin. It follows no redirect, which could carry texts and a key
// to who knows whom.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: idleTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

const idleTimeout = 30 * time.Second

// remote is a service that answers JSON with JSON.
type remote struct {
	client        *http.Client
	endpoint, key string
}

// statusError is an answer that is no success.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("it answered %d %s", int(e), http.StatusText(int(e)))
}

// passing tells whether trying again may help.
func (e statusError) passing() bool { return e == http.StatusTooManyRequests || e >= 500 }

// retryPause is what lies between the two tries.
const retryPause = 200 * time.Millisecond

// post sends in and reads out, a second time after an answer that may pass,
// as far as ctx has time. Errors hold neither the key nor the address.
func (r remote) post(ctx context.Context, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	err = r.once(ctx, body, out)
	var status statusError
	if !errors.As(err, &status) || !status.passing() {
		return plain(ctx, err)
	}
	select {
	case <-ctx.Done():
		return plain(ctx, err)
	case <-time.After(retryPause):
	}
	return plain(ctx, r.once(ctx, body, out))
}

func (r remote) once(ctx context.Context, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.endpoint, bytes.NewReader(body))
	if err != nil {
		return errors.New("the endpoint is no valid URL")
	}
	req.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return statusError(resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if json.Unmarshal(data, out) != nil {
		return errors.New("its answer is not the JSON that was expected")
	}
	return nil
}

// plain takes the address, which may hold a key, out of an error.
func plain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return errors.New("it did not answer in time")
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return errors.New("it can't be reached")
	}
	return err
}
