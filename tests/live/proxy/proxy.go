// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between a scheduler and the API server, passes everything on over TLS, and makes the faults that it is
// told to make. Every fault counts how often it struck.
package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Match chooses the requests that a rule is about.
type Match func(*http.Request) bool

// Rule is one fault. Of the actions, those that are set are taken in the order of the fields.
type Rule struct {
	Name  string
	Match Match
	Times int64 // how often it strikes; 0: until the rules are cleared

	Delay  time.Duration // before the request is passed on
	Drop   bool          // the connection breaks and the API server sees nothing
	Status int           // the answer is this instead, and the API server sees nothing
	Reason string        // of the Status object: Conflict, Expired, TooManyRequests
	After  int           // seconds of Retry-After, with Status
	Lose   bool          // the request is passed on, and the connection breaks instead of the answer

	// Of a watch, once the first event after the rule was added has come.
	Cut    bool          // half of the event comes, then the watch ends
	Close  bool          // the watch ends before the event
	Double bool          // the event comes twice
	Hold   time.Duration // the event comes that much later, while events of other watches pass

	struck atomic.Int64
}

// Struck is how often the fault was made.
func (r *Rule) Struck() int64 { return r.struck.Load() }

// take says whether the rule strikes once more.
func (r *Rule) take() bool {
	if n := r.struck.Add(1); r.Times > 0 && n > r.Times {
		r.struck.Add(-1)
		return false
	}
	return true
}

func (r *Rule) onEvents() bool { return r.Cut || r.Close || r.Double || r.Hold > 0 }

// Call matches requests of a method whose path has this end, for example POST and /binding. Empty matches all.
func Call(method, end string) Match {
	return func(r *http.Request) bool {
		return (method == "" || r.Method == method) && strings.HasSuffix(r.URL.Path, end) && !isWatch(r)
	}
}

// Watch matches watches of a resource: pods, nodes. Empty matches all watches.
func Watch(resource string) Match {
	return func(r *http.Request) bool {
		return isWatch(r) && (resource == "" || strings.HasSuffix(r.URL.Path, "/"+resource))
	}
}

func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// Proxy is a running proxy.
type Proxy struct {
	URL string

	server    *http.Server
	transport *http.Transport
	target    string
	mutex     sync.Mutex
	rules     []*Rule
	watches   map[*http.Request]context.CancelFunc
	counts    map[string]int64 // requests by method and last part of the path
	protocols map[string]int64
	answers   map[int]int64 // of the API server, since Clear
}

// Start listens on a free loopback port and passes on to `target` (https://HOST:PORT). http2 says what clients may speak.
func Start(target string, pool *x509.CertPool, serving tls.Certificate, http2 bool) (*Proxy, error) {
	p := &Proxy{target: target, watches: map[*http.Request]context.CancelFunc{}, counts: map[string]int64{},
		protocols: map[string]int64{}, answers: map[int]int64{}}
	p.transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 64, DisableCompression: true}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.URL = "https://" + listener.Addr().String()
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{serving}}}
	if !http2 {
		p.server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

// Close breaks every connection.
func (p *Proxy) Close() { _ = p.server.Close() }

// Add makes a rule hold from now on; of several that match, each strikes.
func (p *Proxy) Add(rule *Rule) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.rules = append(p.rules, rule)
}

// Clear ends every rule and counts answers anew.
func (p *Proxy) Clear() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.rules = nil
	p.answers = map[int]int64{}
}

// Answers is how many answers with this status the API server gave since Clear.
func (p *Proxy) Answers(status int) int64 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.answers[status]
}

// CloseWatches ends every open watch of a resource, all when it is empty, and says how many.
func (p *Proxy) CloseWatches(resource string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	count := 0
	for request, cancel := range p.watches {
		if Watch(resource)(request) {
			cancel()
			count++
		}
	}
	return count
}

// Count is how many requests of this method and last part of the path were passed on.
func (p *Proxy) Count(method, last string) int64 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.counts[method+" "+last]
}

// Protocol is how many requests came by a protocol: HTTP/1.1 or HTTP/2.0.
func (p *Proxy) Protocol(name string) int64 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.protocols[name]
}

func (p *Proxy) matching(r *http.Request, onEvents bool) []*Rule {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var found []*Rule
	for _, rule := range p.rules {
		if rule.onEvents() == onEvents && rule.Match(r) {
			found = append(found, rule)
		}
	}
	return found
}

// ServeHTTP passes one request on, with the faults that strike it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	p.protocols[r.Proto]++
	p.mutex.Unlock()
	lose := false
	for _, rule := range p.matching(r, false) {
		if !rule.take() {
			continue
		}
		time.Sleep(rule.Delay)
		if rule.Drop {
			panic(http.ErrAbortHandler)
		}
		if rule.Status != 0 {
			refuse(w, rule)
			return
		}
		lose = lose || rule.Lose
	}
	answer, cancel, err := p.forward(r)
	if err != nil {
		panic(http.ErrAbortHandler) // as if there were no proxy: a broken connection
	}
	defer cancel()
	defer answer.Body.Close()
	p.mutex.Lock()
	p.answers[answer.StatusCode]++
	p.mutex.Unlock()
	if lose {
		_, _ = io.Copy(io.Discard, answer.Body)
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if isWatch(r) && answer.StatusCode == http.StatusOK {
		p.stream(w, r, answer)
		return
	}
	if _, err := io.Copy(w, answer.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (p *Proxy) forward(r *http.Request) (*http.Response, context.CancelFunc, error) {
	ctx, cancel := context.WithCancel(r.Context())
	request := r.Clone(ctx)
	request.URL.Scheme, request.URL.Host = "https", strings.TrimPrefix(p.target, "https://")
	request.Host, request.RequestURI = "", ""
	p.mutex.Lock()
	p.counts[r.Method+" "+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]++
	if isWatch(r) {
		p.watches[r] = cancel
	}
	p.mutex.Unlock()
	answer, err := p.transport.RoundTrip(request)
	if err != nil {
		cancel()
	}
	return answer, func() {
		cancel()
		p.mutex.Lock()
		delete(p.watches, r)
		p.mutex.Unlock()
	}, err
}

func refuse(w http.ResponseWriter, rule *Rule) {
	w.Header().Set("Content-Type", "application/json")
	if rule.After > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(rule.After))
	}
	w.WriteHeader(rule.Status)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"fault %s","reason":%q,"code":%d}`,
		rule.Name, rule.Reason, rule.Status)
}

// stream passes the events of a watch on, one by one.
func (p *Proxy) stream(w http.ResponseWriter, r *http.Request, answer *http.Response) {
	flusher, _ := w.(http.Flusher)
	flusher.Flush()
	events := newFrames(answer.Body, answer.Header.Get("Content-Type"))
	for {
		event, err := events.next()
		if err != nil {
			if !errors.Is(err, io.EOF) && r.Context().Err() == nil && !errors.Is(err, context.Canceled) {
				panic(http.ErrAbortHandler)
			}
			return
		}
		double := false
		for _, rule := range p.matching(r, true) {
			if !rule.take() {
				continue
			}
			switch {
			case rule.Close:
				return
			case rule.Cut:
				_, _ = w.Write(event[:len(event)/2])
				flusher.Flush()
				return
			}
			double = double || rule.Double
			time.Sleep(rule.Hold)
		}
		if double {
			event = append(bytes.Clone(event), event...)
		}
		if _, err := w.Write(event); err != nil {
			return
		}
		flusher.Flush()
	}
}
