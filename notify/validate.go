package notify

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	nameForm  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	topicForm = regexp.MustCompile(`^[a-zA-Z0-9:_/-]{1,295}(\.fifo)?$`) // the API's pattern of NotificationTarget
)

// Validate returns an error if sinks are invalid, naming the field.
func Validate(sinks []SinkConfig) error {
	if len(sinks) > maxSinks {
		return fmt.Errorf("sinks: %d, at most %d", len(sinks), maxSinks)
	}
	names := map[string]bool{}
	for i := range sinks {
		c := sinks[i]
		c.setDefaults()
		if err := c.validate(); err != nil {
			return fmt.Errorf("sinks[%d].%w", i, err)
		}
		if names[c.Name] {
			return fmt.Errorf("sinks[%d].name: %q is taken by another sink", i, c.Name)
		}
		names[c.Name] = true
	}
	return nil
}

func (o *Options) validate() error {
	if err := Validate(o.Sinks); err != nil {
		return err
	}
	for i, c := range o.Sinks {
		if c.Kind == SNS && (o.BaseURL == nil || o.KeyFile == "") {
			return fmt.Errorf("sinks[%d].kind: sns needs a base URL and a file for the signing key", i)
		}
	}
	return nil
}

func (c *SinkConfig) validate() error {
	switch {
	case !nameForm.MatchString(c.Name):
		return fmt.Errorf("name: %q does not match %s", c.Name, nameForm)
	case !slices.Contains([]Kind{Webhook, EventBridge, SNS, Log}, c.Kind):
		return fmt.Errorf("kind: %q is none of webhook, eventbridge, sns, log", c.Kind)
	case c.Timeout < 0 || c.Timeout > maxTimeout:
		return fmt.Errorf("timeout: %s is not between 0 and %s", c.Timeout, maxTimeout)
	case c.InFlight < 1 || c.InFlight > maxInFlight:
		return fmt.Errorf("in_flight: %d is not between 1 and %d", c.InFlight, maxInFlight)
	case c.MaxAttempts < 1 || c.MaxAttempts > maxAttempts:
		return fmt.Errorf("max_attempts: %d is not between 1 and %d", c.MaxAttempts, maxAttempts)
	}
	for _, check := range []func() error{c.validateURL, c.validateTopics, c.validateForm, c.validateHeaders} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// validateURL checks the URL. Its error does not show it, since it may contain a password.
func (c *SinkConfig) validateURL() error {
	if c.Kind == Log {
		if c.URL != "" {
			return fmt.Errorf("url: a sink of kind log has none")
		}
		return nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("url: is no http:// or https:// URL")
	}
	return nil
}

func (c *SinkConfig) validateTopics() error {
	if len(c.Topics) == 0 {
		return fmt.Errorf("topics: name at least one topic, or %q for everything", Everything)
	}
	for i, topic := range c.Topics {
		switch {
		case topic == Everything && c.Kind == SNS:
			return fmt.Errorf("topics[%d]: a sink of kind sns subscribes to topics by name, not to %q", i, Everything)
		case topic != Everything && !topicForm.MatchString(topic):
			return fmt.Errorf("topics[%d]: %q does not match %s", i, topic, topicForm)
		case slices.Contains(c.Topics[:i], topic):
			return fmt.Errorf("topics[%d]: %q stands there twice", i, topic)
		}
	}
	return nil
}

// validateForm checks the members that only some kinds have.
func (c *SinkConfig) validateForm() error {
	switch {
	case len(c.Secrets) > 0 && c.Kind != Webhook:
		return fmt.Errorf("secrets: only a sink of kind webhook is signed with secrets")
	case slices.Contains(c.Secrets, ""):
		return fmt.Errorf("secrets: one of them is empty")
	case c.Raw && c.Kind != SNS:
		return fmt.Errorf("raw: only a sink of kind sns can be raw")
	case c.Kind != SNS && c.SignatureVersion != "":
		return fmt.Errorf("signature_version: only a sink of kind sns has one")
	case c.Kind == SNS && c.SignatureVersion != "1" && c.SignatureVersion != "2":
		return fmt.Errorf("signature_version: %q is neither 1 nor 2", c.SignatureVersion)
	}
	return nil
}

// validateHeaders checks the headers. Its error shows no values, since they may be secret.
func (c *SinkConfig) validateHeaders() error {
	for name, value := range c.Headers {
		if name == "" || strings.ContainsAny(name, " :\r\n\t") || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("headers: %q or its value cannot stand in an HTTP header", name)
		}
		if slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding"}, http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("headers: %s is set by Muster", name)
		}
	}
	return nil
}
