package awsquery

import (
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/fault"
)

// Elsewhere refuses the requests that are signed for services that nobody here serves, so that
// AWS's clients for them can read why: they come when one endpoint is set for all services.
type Elsewhere struct {
	Served []string // as in signatures
	Remedy string   // the end of the message
}

// Match reports whether a request is for a service that is not served.
func (e *Elsewhere) Match(r *http.Request) bool {
	service := serviceOf(r)
	return service != "" && !slices.Contains(e.Served, service)
}

// ServeHTTP refuses one request, in XML if it is a form or its service answers in XML, and else
// in JSON.
func (e *Elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, service, status := rand.Text(), serviceOf(r), fault.UnknownOperation.HTTPStatus()
	one := refused{"Sender", codeOf(fault.UnknownOperation), fmt.Sprintf("the service %.64q is not served here: %s", service, e.Remedy)}
	w.Header().Set("X-Amzn-Requestid", id)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case service == "ec2":
		write(w, status, refusalEC2{Errors: []refused{one}, RequestID: id})
	case kind == "application/x-www-form-urlencoded", slices.Contains(restXML, service):
		write(w, status, refusal{Error: one, RequestID: id})
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Amzn-Errortype", one.Code)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": one.Message}) // the client may be gone
	}
}

// restXML are services whose requests are no forms and whose responses are XML.
var restXML = []string{"cloudfront", "route53", "s3-outposts"}

// serviceOf returns the service for which a request says that it is signed, or "".
func serviceOf(r *http.Request) string {
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, ",")
	parts := strings.Split(scope, "/") // KEY/DATE/REGION/SERVICE/aws4_request
	if len(parts) != 5 || parts[4] != "aws4_request" {
		return ""
	}
	return parts[3]
}

// refusalEC2 is the response of the EC2 query protocol to a request that fails.
type refusalEC2 struct {
	XMLName   xml.Name  `xml:"Response"`
	Errors    []refused `xml:"Errors>Error"`
	RequestID string    `xml:"RequestID"`
}
