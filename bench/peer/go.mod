module berth.dev/bench/peer

go 1.25.0
