// SPDX-License-Identifier: Apache-2.0

// Package berth is libberth in Go: kube-scheduler's verdicts, placements and what-ifs, by cgo over berth.h.
//
// docs/go.md explains it with examples; docs/embedding.md explains the model. In short: an Engine is a configuration,
// a Cluster the one object that changes, a Snapshot the cluster at one version, a Fork a what-if, a Pod is prepared
// once, a NodeSet is a set of node numbers, a Queue is kube-scheduler's queue, and results are answers in columns.
//
// # Ownership
//
// Every handle and every result is closed by its Close method, and by nothing else: no finalizer frees one. A handle
// keeps alive what it was made of, so that they may be closed in any order. Close may be called more than once, and
// while calls run: the last of them frees the handle. A call on a closed handle returns an error that wraps ErrClosed.
// The columns of a result are slices of the library's memory. They are valid until Close of that result, which sets the
// fields to nil; a slice that was copied out of the field must not be used after that.
//
// # Errors
//
// What the library refuses is an *Error with its status, object and text; errors.Is(err, berth.NotFound) asks for the
// status. An answer "no" is no error. A call that a context ended early returns its result, which is exact as far as it
// goes, together with an error that wraps context.Canceled or context.DeadlineExceeded; only if the context had ended
// before the call, the result is nil and nothing was done.
//
// # Goroutines
//
// The rules are those of berth.h, with goroutines for threads. Any number of goroutines may use an Engine, a Snapshot,
// a Pod, a NodeSet, a result and a Cluster at once; calls that change a cluster wait for each other. A Fork or a Queue
// is used by one goroutine at a time, by any of them: a second one gets Busy, and nothing happens. Queue.PodCame and
// PodLeaves use the fork as well. Close of a result is not called while another goroutine reads its fields.
package berth
