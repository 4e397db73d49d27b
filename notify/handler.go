package notify

import (
	"encoding/xml"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/musterhq/muster/auth"
	"github.com/musterhq/muster/internal/fault"
)

// ServeHTTP serves everything under /notify/: the links for subscribers, and the requests
// of operators.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

type handler struct {
	svc   *Service
	allow func(r *http.Request, action auth.Action, resources ...string) (auth.Caller, error) // nil allows no operator
	log   *slog.Logger
}

func (h handler) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+confirmPath, h.serveConfirm)
	mux.HandleFunc("GET "+unsubscribePath, h.serveUnsubscribe)
	mux.HandleFunc("GET /notify/{certificate}", h.serveCertificate)
	mux.HandleFunc("GET /notify/recent", h.guard(mayTell, h.serveRecent))
	mux.HandleFunc("GET /notify/sinks", h.guard(mayRead, h.serveSinks))
	mux.HandleFunc("GET /notify/deliveries", h.guard(mayRead, h.serveDeliveries))
	mux.HandleFunc("GET /notify/dead-letters", h.guard(mayTell, h.serveDeadLetters))
	mux.HandleFunc("POST /notify/replay", h.guard(mayChange, h.serveReplay))
	mux.HandleFunc("POST /notify/redeliver", h.guard(mayChange, h.serveRedeliver))
	mux.HandleFunc("POST /notify/subscribe", h.guard(mayChange, h.serveSubscribe))
	mux.HandleFunc("/notify/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "there is nothing at "+r.Method+" "+r.URL.Path)
	})
	return mux
}

// serveCertificate serves the certificate of the signing key, under its own name and as
// cert.pem.
func (h handler) serveCertificate(w http.ResponseWriter, r *http.Request) {
	signer := h.svc.signs()
	known := signer != nil &&
		(r.URL.Path == certificatePrefix+signer.fingerprint+certificateSuffix || r.URL.Path == "/notify/cert.pem")
	if !known {
		refuse(w, http.StatusNotFound, "there is no certificate of this name")
		return
	}
	w.Header().Set("Content-Type", "application/x-pem-file")
	w.Write(signer.certificate)
}

// answerXML is the answer of Amazon SNS's query API, which is what SubscribeURL
// and UnsubscribeURL call.
type answerXML struct {
	XMLName xml.Name
	XMLNS   string    `xml:"xmlns,attr"`
	ARN     string    `xml:"ConfirmSubscriptionResult>SubscriptionArn,omitempty"`
	Error   *errorXML `xml:"Error,omitempty"`
}

type errorXML struct {
	Type    string `xml:"Type"`
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
}

const snsNamespace = "http://sns.amazonaws.com/doc/2010-03-31/"

func (h handler) serveConfirm(w http.ResponseWriter, r *http.Request) {
	if !isGet(w, r) {
		return
	}
	c, err := parseConfirm(r.URL.RawQuery)
	if err != nil {
		h.failXML(w, err)
		return
	}
	arn, err := h.svc.subs.confirm.Do(r.Context(), c)
	if err != nil {
		h.failXML(w, err)
		return
	}
	h.log.Info("endpoint confirmed its subscription", "topic", c.Topic)
	writeXML(w, http.StatusOK, answerXML{XMLName: xml.Name{Local: "ConfirmSubscriptionResponse"}, ARN: arn})
}

func (h handler) serveUnsubscribe(w http.ResponseWriter, r *http.Request) {
	if !isGet(w, r) {
		return
	}
	arn, err := parseUnsubscribe(r.URL.RawQuery)
	if err != nil {
		h.failXML(w, err)
		return
	}
	if err := h.svc.subs.unsubscribe.Do(r.Context(), arn); err != nil {
		h.failXML(w, err)
		return
	}
	for _, k := range h.svc.current() {
		k.resend.Send() // sends the notification of the end
	}
	h.log.Info("endpoint unsubscribed")
	writeXML(w, http.StatusOK, answerXML{XMLName: xml.Name{Local: "UnsubscribeResponse"}})
}

// isGet refuses HEAD, which some programs use to look at links before people do, so that
// it confirms nothing.
func isGet(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet {
		return true
	}
	w.Header().Set("Allow", http.MethodGet)
	w.WriteHeader(http.StatusMethodNotAllowed)
	return false
}

// Limits of the parameters in URLs that others send.
const (
	maxQuery = 4096
	maxARN   = 400
	maxToken = 256
)

func parseConfirm(raw string) (confirmation, error) {
	v, err := parseAction(raw, "ConfirmSubscription")
	if err != nil {
		return confirmation{}, err
	}
	c := confirmation{Topic: v.Get("TopicArn"), Token: v.Get("Token")}
	switch {
	case c.Topic == Everything || !topicForm.MatchString(c.Topic):
		return confirmation{}, fault.Invalid("TopicArn: it does not match %s", topicForm)
	case c.Token == "" || len(c.Token) > maxToken || strings.Trim(c.Token, "0123456789abcdef") != "":
		return confirmation{}, fault.Invalid("Token: it is not 1 to %d hex digits", maxToken)
	}
	return c, nil
}

func parseUnsubscribe(raw string) (subscriptionARN string, err error) {
	v, err := parseAction(raw, "Unsubscribe")
	if err != nil {
		return "", err
	}
	subscriptionARN = v.Get("SubscriptionArn")
	at := max(strings.LastIndexByte(subscriptionARN, ':'), 0)
	if len(subscriptionARN) > maxARN || len(subscriptionARN)-at != len(":")+36 || !topicForm.MatchString(subscriptionARN[:at]) {
		return "", fault.Invalid("SubscriptionArn: it is not a topic's ARN, a colon and a UUID")
	}
	return subscriptionARN, nil
}

// parseAction reads a query of SNS's API. Action may be left out.
func parseAction(raw, action string) (url.Values, error) {
	if len(raw) > maxQuery {
		return nil, fault.Invalid("the query has %d bytes, at most %d", len(raw), maxQuery)
	}
	v, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fault.Invalid("the query cannot be read: %v", err)
	}
	for name, values := range v {
		if len(values) > 1 {
			return nil, fault.Invalid("%.40q stands in the query %d times", name, len(values))
		}
	}
	if got := v.Get("Action"); got != "" && got != action {
		return nil, fault.Invalid("Action: %.40q is not %s", got, action)
	}
	return v, nil
}

func (h handler) failXML(w http.ResponseWriter, err error) {
	status, e := http.StatusBadRequest, errorXML{Type: "Sender"}
	f, ok := fault.As(err)
	switch {
	case !ok || f.Kind == fault.InternalService || f.Kind == fault.Throttling:
		h.log.Error("subscription not changed", "error", err)
		status, e = http.StatusServiceUnavailable, errorXML{"Receiver", "InternalError", "try again"}
	case f.Kind == fault.NotFound:
		status, e.Code, e.Message = http.StatusNotFound, "NotFound", f.Message
	default:
		e.Code, e.Message = "InvalidParameter", "Invalid parameter: "+f.Message
	}
	writeXML(w, status, answerXML{XMLName: xml.Name{Local: "ErrorResponse"}, Error: &e})
}

func writeXML(w http.ResponseWriter, status int, answer answerXML) {
	answer.XMLNS = snsNamespace
	text, err := xml.Marshal(answer)
	if err != nil {
		panic(fmt.Sprintf("notify: an answer does not encode: %v", err)) // plain text always encodes
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}
