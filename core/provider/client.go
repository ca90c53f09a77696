package provider

import "net/http"

// NewClient makes a client whose connections are nobody else's. It follows no
// redirect, which could carry the key, the headers and the conversation to
// whoever it names.
func NewClient() *http.Client {
	return &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: func(to *http.Request, _ []*http.Request) error {
			return redirect(to.URL.Scheme + "://" + to.URL.Host)
		},
	}
}

// redirect is where a server sent a request on to, without a path, which may
// hold what nobody else should read.
type redirect string

func (r redirect) Error() string {
	return "the server redirects to " + string(r) + ", which is not followed: set baseURL to the final address"
}
