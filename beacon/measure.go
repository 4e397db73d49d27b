package beacon

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Method is how a location was reached.
type Method string

// The methods, in the order they are tried.
const (
	UDP   Method = "udp"
	TCP   Method = "tcp"
	HTTPS Method = "https"
)

// Endpoint is a location's beacons; "" for each kind it does not have.
type Endpoint struct {
	Location string
	UDP, TCP string // HOST:PORT
	HTTPS    string // URL
}

// MeasureOptions configures Measure. Zero members mean the defaults.
type MeasureOptions struct {
	Samples  int           // datagrams per location; the first does not count; default 6
	Interval time.Duration // between two of them; default 350 ms
	Timeout  time.Duration // for each answer; default 1 s
	Parallel int           // concurrent locations; default 4
	Deadline time.Duration // for the whole measurement; default 4 s
	Receipt  bool          // request a receipt as well
	Client   *http.Client  // for HTTPS; default a new one
}

// Result is the measurement of a location.
type Result struct {
	Location string
	Method   Method
	RTT      time.Duration // median (UDP), minimum (TCP), mean (HTTPS)
	Loss     float64       // share of datagrams without an answer, 0 to 1
	Receipt  string        // signed by the beacon, if requested and issued
	Err      error         // why the location was not reached; the other members are then meaningless
}

func (o *MeasureOptions) setDefaults() {
	o.Samples, o.Parallel = cmp.Or(o.Samples, 6), cmp.Or(o.Parallel, 4)
	o.Interval = cmp.Or(o.Interval, 350*time.Millisecond)
	o.Timeout, o.Deadline = cmp.Or(o.Timeout, time.Second), cmp.Or(o.Deadline, 4*time.Second)
	if o.Client == nil {
		o.Client = &http.Client{Transport: &http.Transport{}}
	}
}

// Measure returns one result for each endpoint, in the same order. Locations that
// cannot be reached have an Err: omit them from what is reported, since an invented
// figure invites a match there. The error is ctx's only.
func Measure(ctx context.Context, endpoints []Endpoint, o MeasureOptions) ([]Result, error) {
	o.setDefaults()
	within, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	results := make([]Result, len(endpoints))
	slots := make(chan struct{}, o.Parallel)
	var all sync.WaitGroup
	for i, e := range endpoints {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = o.one(within, e)
		})
	}
	all.Wait()
	return results, ctx.Err()
}

// one tries the ways to reach a location, the most accurate first.
func (o *MeasureOptions) one(ctx context.Context, e Endpoint) Result {
	ways := []struct {
		method Method
		at     string
		try    func(context.Context, string, *Result) error
	}{{UDP, e.UDP, o.udp}, {TCP, e.TCP, o.tcp}, {HTTPS, e.HTTPS, o.https}}
	r := Result{Location: e.Location, Err: errors.New("the location has no beacon")}
	for _, way := range ways {
		if way.at == "" {
			continue
		}
		r = Result{Location: e.Location, Method: way.method}
		if r.Err = way.try(ctx, way.at, &r); r.Err == nil {
			return r
		}
	}
	return r
}

// udp sends numbered datagrams at a steady pace and takes the median of the round
// trips. If half of them are lost, it fails.
func (o *MeasureOptions) udp(ctx context.Context, at string, r *Result) error {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", at)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	sent, back := o.volley(ctx, conn)
	var trips []time.Duration
	for i := 1; i < len(sent); i++ { // the first one only establishes the path
		if !back[i].IsZero() {
			trips = append(trips, back[i].Sub(sent[i]))
		}
	}
	counted := max(1, len(sent)-1)
	r.Loss = 1 - float64(len(trips))/float64(counted)
	if len(trips) == 0 || r.Loss >= 0.5 {
		return fmt.Errorf("%d of %d datagrams came back", len(trips), counted)
	}
	slices.Sort(trips)
	r.RTT = trips[len(trips)/2]
	if o.Receipt {
		r.Receipt = receipt(conn, o.Timeout)
	}
	return nil
}

// volley sends the datagrams and records when each was sent and came back.
func (o *MeasureOptions) volley(ctx context.Context, conn net.Conn) (sent, back []time.Time) {
	sent, back = make([]time.Time, o.Samples), make([]time.Time, o.Samples)
	var tag [nonceSize]byte // so that answers to somebody else do not count
	rand.Read(tag[:])
	heard := make(chan struct{})
	last := time.Now().Add(time.Duration(o.Samples-1)*o.Interval + o.Timeout)
	if end, ok := ctx.Deadline(); ok && end.Before(last) {
		last = end
	}
	conn.SetReadDeadline(last)
	go func() {
		defer close(heard)
		o.hear(conn, tag, back)
	}()
	pace := time.NewTicker(o.Interval)
	defer pace.Stop()
	for i := range sent {
		datagram := binary.BigEndian.AppendUint32(tag[:], uint32(i))
		sent[i] = time.Now()
		if _, err := conn.Write(datagram); err != nil || ctx.Err() != nil {
			break
		}
		if i < len(sent)-1 {
			select {
			case <-pace.C:
			case <-ctx.Done():
			}
		}
	}
	<-heard
	return sent, back
}

// hear records answers until all have come or the read deadline passes.
func (o *MeasureOptions) hear(conn net.Conn, tag [nonceSize]byte, back []time.Time) {
	buffer := make([]byte, MaxDatagram)
	for left := len(back); left > 0; {
		n, err := conn.Read(buffer)
		now := time.Now()
		if err != nil {
			return // the time is up, or nobody listens there
		}
		if n != nonceSize+4 || [nonceSize]byte(buffer[:nonceSize]) != tag {
			continue
		}
		i := binary.BigEndian.Uint32(buffer[nonceSize:])
		if int64(i) < int64(len(back)) && back[i].IsZero() {
			back[i] = now
			left--
		}
	}
}

// receipt has the beacon measure, and returns its receipt; "" if it issues none.
func receipt(conn net.Conn, timeout time.Duration) string {
	conn.SetReadDeadline(time.Now().Add(timeout))
	ask := make([]byte, minAsk)
	copy(ask, "GLB1")
	rand.Read(ask[4 : 4+nonceSize])
	nonce := string(ask[4 : 4+nonceSize])
	stamped := exchange(conn, ask, "GLB2"+nonce)
	if len(stamped) != nonceSize+stampSize+macSize {
		return ""
	}
	again := make([]byte, MaxDatagram)
	copy(again, "GLB3"+stamped)
	signed := exchange(conn, again, "GLB4"+nonce)
	if len(signed) <= nonceSize {
		return ""
	}
	return signed[nonceSize:]
}

// exchange sends a datagram and waits for the answer that begins with want. It
// returns the answer without its first four bytes.
func exchange(conn net.Conn, datagram []byte, want string) string {
	if _, err := conn.Write(datagram); err != nil {
		return ""
	}
	buffer := make([]byte, MaxDatagram)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return ""
		}
		if n >= len(want) && string(buffer[:len(want)]) == want {
			return string(buffer[4:n])
		}
	}
}

// tcp takes the minimum of three connects.
func (o *MeasureOptions) tcp(ctx context.Context, at string, r *Result) error {
	dialer := &net.Dialer{Timeout: o.Timeout}
	for i := range 3 {
		begin := time.Now()
		conn, err := dialer.DialContext(ctx, "tcp", at)
		if err != nil {
			return err
		}
		trip := time.Since(begin)
		conn.Close()
		if i == 0 || trip < r.RTT {
			r.RTT = trip
		}
	}
	return nil
}

// https takes the mean of two requests on a connection that a first request opened.
func (o *MeasureOptions) https(ctx context.Context, at string, r *Result) error {
	for i := range 3 {
		begin := time.Now()
		if _, err := o.get(ctx, at); err != nil {
			return err
		}
		if i > 0 {
			r.RTT += time.Since(begin) / 2
		}
	}
	if o.Receipt {
		r.Receipt = o.webReceipt(ctx, at)
	}
	return nil
}

// webReceipt has the beacon measure, and returns its receipt; "" if it issues none.
func (o *MeasureOptions) webReceipt(ctx context.Context, at string) string {
	to, err := url.Parse(at)
	if err != nil {
		return ""
	}
	nonce := make([]byte, nonceSize)
	rand.Read(nonce)
	q := to.Query()
	q.Set("nonce", hex.EncodeToString(nonce))
	to.RawQuery = q.Encode()
	stamp, err := o.get(ctx, to.String())
	if err != nil || stamp == "" {
		return ""
	}
	q.Set("stamp", stamp)
	to.RawQuery = q.Encode()
	receipt, err := o.get(ctx, to.String())
	if err != nil {
		return ""
	}
	return receipt
}

// get returns the body of an answer.
func (o *MeasureOptions) get(ctx context.Context, at string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	response, err := o.Client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxDatagram))
	if response.StatusCode >= 300 {
		return "", fmt.Errorf("%s answers with status %d", at, response.StatusCode)
	}
	return string(body), err
}
