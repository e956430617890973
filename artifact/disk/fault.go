package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tenonrun/tenon/internal/lock"
	"github.com/tenonrun/tenon/workflow"
)

// fault tells an error of the disk for the person who reads it. Errors that tell
// it already stay, with what was being done.
func fault(doing string, err error) error {
	var ours *workflow.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", doing, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return workflow.Errorf(workflow.CodeStoreFull, "%s: %w", doing, err).
			WithHint("free some space on that disk and try again; nothing that was reported as done is lost")
	case errors.Is(err, lock.ErrBusy):
		return workflow.Errorf(workflow.CodeStoreUnavailable, "%s: %w", doing, err).
			WithHint("another process has been writing to it for a long time; stop that process, or try again")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return workflow.Errorf(workflow.CodeStoreUnavailable, "%s: %w", doing, err).
			WithHint("make the state directory readable and writable for this user, or choose another with --state DIR or TENON_STATE")
	}
	return workflow.Errorf(workflow.CodeStoreUnavailable, "%s: %w", doing, err).WithHint("check the disk")
}
