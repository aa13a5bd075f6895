// SPDX-License-Identifier: Apache-2.0

//go:build v1_36

package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"berth.dev/tests/oracle/upstream"
)

type batcher struct{ storedUs map[string]int64 }

func (b *batcher) place(context.Context, *upstream.Scheduler, *v1.Pod, *happening) (*runRecord, error) {
	return nil, errors.New("histories with batching are those of v1.35")
}
