//go:build !unix

package live

import "os"

// continued tells nothing: processes are not stopped here.
func continued() (<-chan os.Signal, func()) { return nil, func() {} }
