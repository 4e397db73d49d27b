package notify

import (
	"net/url"
)

// links builds the URLs in messages. It is the base URL of the handler.
type links string

func (l links) certificate(s *signer) string {
	return string(l) + certificatePrefix + s.fingerprint + certificateSuffix
}

func (l links) subscribe(s *Subscription) string {
	return string(l) + confirmPath + "?" + url.Values{
		"Action": {"ConfirmSubscription"}, "TopicArn": {s.Topic}, "Token": {s.Token},
	}.Encode()
}

func (l links) unsubscribe(s *Subscription) string {
	return string(l) + unsubscribePath + "?" + url.Values{
		"Action": {"Unsubscribe"}, "SubscriptionArn": {s.ARN},
	}.Encode()
}

// The paths of the handler that subscribers use.
const (
	confirmPath       = "/notify/confirm"
	unsubscribePath   = "/notify/unsubscribe"
	certificatePrefix = "/notify/cert-" // followed by the fingerprint, so that a cached one is never wrong
	certificateSuffix = ".pem"
)
