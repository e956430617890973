package lock

import "time"

// Wait bounds how long a Lock of the gate waits.
func (g *Gate) Wait(d time.Duration) { g.wait = d }
