// SPDX-License-Identifier: Apache-2.0

//go:build berth_queue && v1_36

package main

const release = "1.36"
