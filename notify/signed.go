package notify

import (
	"cmp"
	"context"
)

// Signed posts to one URL, with the signature of sinks of kind webhook, what is not a
// notice.
type Signed struct{ sender webhookSender }

// NewSigned returns a Signed that signs with secrets; without any it does not sign. The
// error says what is wrong with the URL or the secrets, but contains neither.
func NewSigned(url string, secrets ...string) (*Signed, error) {
	c := SinkConfig{Kind: Webhook, URL: url, Secrets: secrets}
	if err := cmp.Or(c.validateURL(), c.validateForm()); err != nil {
		return nil, err
	}
	c.setDefaults()
	return &Signed{webhookSender{newPoster(&c, newTransport()), secrets}}, nil
}

// Post sends one request with a signature added to the headers. 2xx is success.
func (w *Signed) Post(ctx context.Context, headers map[string]string, body []byte) error {
	return w.sender.post(ctx, headers, body)
}
