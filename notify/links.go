package notify

import (
	"net/url"
)

// links makes the URLs that stand in messages; it is the base URL of the handler.
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

// The paths of the handler that subscribers meet.
const (
	confirmPath       = "/notify/confirm"
	unsubscribePath   = "/notify/unsubscribe"
	certificatePrefix = "/notify/cert-" // and the fingerprint, so that a cached one is never the wrong one
	certificateSuffix = ".pem"
)
