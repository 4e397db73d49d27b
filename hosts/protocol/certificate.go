package protocol

// Certificate is what the TLS certificate of an instance's game servers is for.
type Certificate struct {
	DNSName   string `json:",omitempty"`
	IPAddress string `json:",omitempty"`
	IPv6      string `json:",omitempty"` // beside an IPv4 address
}

// CertificateRequest asks for a certificate.
type CertificateRequest struct {
	Request []byte // a certificate signing request, in DER; its names are ignored
	Path    string // of the folder in which the agent stores the certificate
}

// CertificateResponse is a certificate. Its members are in PEM.
type CertificateResponse struct {
	Certificate []byte
	Chain       []byte // that follow it, up to the root
	Root        []byte
}
