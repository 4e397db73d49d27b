package awsrpc

// Rate is a token bucket's rate.
type Rate struct {
	PerSecond float64 // tokens a second; more than 0
	Burst     int     // most tokens kept; 0 is PerSecond rounded up
}
